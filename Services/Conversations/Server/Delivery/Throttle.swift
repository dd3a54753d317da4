import Locks

/// A filter that passes each key once per `pause`; it drops its older half when it has too many keys.
final class Throttle<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var recent: [Key: ContinuousClock.Instant] = [:]
        var older: [Key: ContinuousClock.Instant] = [:]
        var turnedAt: ContinuousClock.Instant
    }

    private let pause: Duration
    private let capacity: Int
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Lock<State>

    init(
        pause: Duration,
        capacity: Int = 50_000,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.pause = pause
        self.capacity = capacity
        self.now = now
        state = Lock(State(turnedAt: now()))
    }

    /// Returns whether the key passed a moment ago.
    func isHeld(_ key: Key) -> Bool {
        let now = now()
        return state.withLock { isHeld(key, $0, now) }
    }

    /// Returns whether the key may pass, and holds it for `pause` if so.
    func passes(_ key: Key) -> Bool {
        let now = now()
        return state.withLock { state in
            guard !isHeld(key, state, now) else { return false }
            if state.recent.count >= capacity || now - state.turnedAt > pause {
                state.older = state.recent
                state.recent = [:]
                state.turnedAt = now
            }
            state.recent[key] = now
            return true
        }
    }

    private func isHeld(_ key: Key, _ state: State, _ now: ContinuousClock.Instant) -> Bool {
        guard let passed = state.recent[key] ?? state.older[key] else { return false }
        return now - passed < pause
    }
}
