import Locks
import Synchronization
import Wire

/// What the services have been told to do wrong.
///
/// Of several rules that fit, one for the device comes before one for all, and of those the oldest first; a rule that
/// has been followed as often as it says is gone.
package final class Script: Sendable {
    private static let limit = 10_000

    private struct RuleKey: Hashable {
        let service: SandboxService
        let token: String?
    }

    private struct State {
        var rules: [RuleKey: [ScriptRule]] = [:]
        var count = 0
    }

    private let state = Lock(State())
    /// Read before anything else: mostly there is no rule, and thousands of requests a second ask.
    private let isEmpty = Atomic<Bool>(true)

    init() {}

    /// Adds a rule.
    ///
    /// - Throws: `APIError` where it makes no sense, or is one too many.
    package func add(_ rule: ScriptRule) throws {
        try rule.check()
        try state.withLock { state in
            guard state.count < Self.limit else {
                throw APIError(.conflict, "too_many_rules", "there are \(Self.limit) rules already")
            }
            state.rules[RuleKey(service: rule.service, token: rule.token), default: []].append(rule)
            state.count += 1
            isEmpty.store(false, ordering: .releasing)
        }
    }

    package func clear() {
        state.withLock { state in
            state = State()
            isEmpty.store(true, ordering: .releasing)
        }
    }

    /// The rules that still hold, with how often they are yet to be followed.
    package var rules: [ScriptRule] {
        state.withLock { $0.rules.values.flatMap(\.self) }
    }

    /// The rule for a request, which is followed by that; the path is what was asked for, where rules may be for parts.
    func follow(_ service: SandboxService, token: String, path: String = "") -> ScriptRule? {
        guard !isEmpty.load(ordering: .acquiring) else { return nil }
        return state.withLock { state in
            let keys = [RuleKey(service: service, token: token), RuleKey(service: service, token: nil)]
            for key in keys {
                guard var rules = state.rules[key],
                    let index = rules.firstIndex(where: { $0.path.map(path.contains) ?? true })
                else { continue }
                var rule = rules[index]
                let followed = rule
                if let times = rule.times {
                    rule.times = times - 1
                    if times > 1 {
                        rules[index] = rule
                    } else {
                        rules.remove(at: index)
                        state.count -= 1
                    }
                    state.rules[key] = rules.isEmpty ? nil : rules
                    if state.count == 0 { isEmpty.store(true, ordering: .releasing) }
                }
                return followed
            }
            return nil
        }
    }
}
