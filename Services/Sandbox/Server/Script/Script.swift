import Locks
import Synchronization
import Wire

/// The rules that make the services fail.
///
/// A rule for the request's token takes precedence over a rule for all tokens, and an older rule over a newer one. A
/// rule with `times` is removed after that many requests.
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
    /// Whether there are no rules, which is usual and which thousands of requests per second read without a lock.
    private let isEmpty = Atomic<Bool>(true)

    init() {}

    /// Adds a rule.
    ///
    /// - Throws: `APIError` when the rule is invalid or the limit of rules is reached.
    package func add(_ rule: ScriptRule) throws {
        try rule.check()
        try state.withLock { state in
            guard state.count < Self.limit else {
                throw APIError(.conflict, "too_many_rules", "the limit of \(Self.limit) rules is reached")
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

    /// The active rules, with the remaining number of times.
    package var rules: [ScriptRule] {
        state.withLock { $0.rules.values.flatMap(\.self) }
    }

    /// Returns the rule for a request, and counts the request against the rule's `times`.
    ///
    /// A rule's `path` applies only to requests to networks, whose `path` must contain it.
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
