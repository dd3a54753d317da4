import Metrics
import PushAPI

struct FanOutMetrics: Sendable {
    private let sends = Counter(label: "roost_push_decisions_total", dimensions: [("decision", "send")])
    private let outcomes: [NotificationRecord.Outcome: Counter]
    private let withheld: [String: Counter]

    init() {
        let counted: [NotificationRecord.Outcome] = [.held, .replaced, .expired, .cancelled]
        outcomes = Dictionary(
            uniqueKeysWithValues: counted.map { outcome in
                let dimensions = [("decision", outcome.rawValue)]
                return (outcome, Counter(label: "roost_push_decisions_total", dimensions: dimensions))
            }
        )
        withheld = Dictionary(
            uniqueKeysWithValues: WithholdingReason.allCases.map { reason in
                let dimensions = [("decision", reason.rawValue)]
                return (reason.rawValue, Counter(label: "roost_push_decisions_total", dimensions: dimensions))
            }
        )
    }

    /// Counts decisions: `send` for each device, the others for each user.
    func count(_ decided: FanOutResult) {
        sends.increment(by: decided.queue.count)
        for row in decided.log {
            (outcomes[row.outcome] ?? row.reason.flatMap { withheld[$0] })?.increment()
        }
    }
}
