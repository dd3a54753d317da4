import ConversationsAPI
import Locks
import NIOCore
import Wire

/// Somebody writes in a conversation.
struct Typing: Hashable, Sendable {
    let user: User.ID
    let conversation: Conversation.ID

    var event: DeliveryEvent {
        var writer = JSONWriter(capacity: 128)
        writer.raw("{\"chatId\":")
        writer.number(conversation.rawValue)
        writer.raw(",\"userId\":")
        writer.string(user.user)
        writer.raw("}")
        return DeliveryEvent(name: .typing, json: writer.buffer)
    }
}

/// Lets each thing pass once in a while; the older half is forgotten when it holds too many.
final class Throttle<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var young: [Key: ContinuousClock.Instant] = [:]
        var old: [Key: ContinuousClock.Instant] = [:]
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

    /// Whether it passed a moment ago.
    func isHeld(_ key: Key) -> Bool {
        let now = now()
        return state.withLock { isHeld(key, $0, now) }
    }

    /// Whether it may pass; then it is held for a while.
    func passes(_ key: Key) -> Bool {
        let now = now()
        return state.withLock { state in
            guard !isHeld(key, state, now) else { return false }
            if state.young.count >= capacity || now - state.turnedAt > pause {
                state.old = state.young
                state.young = [:]
                state.turnedAt = now
            }
            state.young[key] = now
            return true
        }
    }

    private func isHeld(_ key: Key, _ state: State, _ now: ContinuousClock.Instant) -> Bool {
        guard let passed = state.young[key] ?? state.old[key] else { return false }
        return now - passed < pause
    }
}
