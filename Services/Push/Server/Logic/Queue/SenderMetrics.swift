import Metrics
import PushProviders

struct SenderMetrics: Sendable {
    private static let outcomes = [
        "accepted", "unregistered", "wrong_environment", "wrong_app", "refused", "too_large", "target_busy",
        "provider_busy", "misconfigured",
    ]

    private let sends: [ProviderKind: [String: Counter]]
    private let durations: [ProviderKind: Metrics.Timer]
    private let resends = Counter(label: "roost_push_resent_total")

    init() {
        sends = Dictionary(
            uniqueKeysWithValues: ProviderKind.allCases.map { kind in
                let counters = Self.outcomes.map { outcome in
                    let dimensions = [("provider", kind.rawValue), ("outcome", outcome)]
                    return (outcome, Counter(label: "roost_push_sends_total", dimensions: dimensions))
                }
                return (kind, Dictionary(uniqueKeysWithValues: counters))
            }
        )
        durations = Dictionary(
            uniqueKeysWithValues: ProviderKind.allCases.map { kind in
                (
                    kind,
                    Metrics.Timer(label: "roost_push_send_duration_seconds", dimensions: [("provider", kind.rawValue)])
                )
            }
        )
    }

    func record(_ kind: ProviderKind, _ outcome: PushOutcome, after duration: Duration) {
        sends[kind]?[Self.name(of: outcome)]?.increment()
        let (seconds, attoseconds) = duration.components
        durations[kind]?.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Counts a notification that is sent again because an earlier result was not stored; the device may receive it
    /// twice.
    func recordResend() { resends.increment() }

    private static func name(of outcome: PushOutcome) -> String {
        switch outcome {
        case .accepted: "accepted"
        case .unregistered: "unregistered"
        case .wrongEnvironment: "wrong_environment"
        case .wrongApp: "wrong_app"
        case .refused: "refused"
        case .tooLarge: "too_large"
        case .targetBusy: "target_busy"
        case .providerBusy: "provider_busy"
        case .misconfigured: "misconfigured"
        }
    }
}
