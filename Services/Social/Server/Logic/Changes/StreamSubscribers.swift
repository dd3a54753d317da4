import Foundation
import Locks
import Metrics
import Synchronization
import Wire

/// An open stream of a user's changes.
final class StreamSubscriber: Sendable {
    enum Wake: Sendable { case changes, heartbeat }

    let number: UInt64
    let user: User.ID
    let session: String
    /// The reasons to read or to send a heartbeat; ends with the subscriber.
    let wakes: AsyncStream<Wake>
    private let continuation: AsyncStream<Wake>.Continuation
    private let hasChanges = Atomic<Bool>(false)

    fileprivate init(number: UInt64, user: User.ID, session: String) {
        self.number = number
        self.user = user
        self.session = session
        // A buffer of one is enough: a later wake covers those before it, see `takeChanges()`.
        (wakes, continuation) = AsyncStream<Wake>.makeStream(bufferingPolicy: .bufferingNewest(1))
        continuation.yield(.changes)
    }

    func wake(_ reason: Wake) {
        if reason == .changes { hasChanges.store(true, ordering: .sequentiallyConsistent) }
        continuation.yield(reason)
    }

    /// Returns whether there were changes since the last call, even if a heartbeat replaced their wake in the buffer.
    func takeChanges() -> Bool { hasChanges.exchange(false, ordering: .sequentiallyConsistent) }

    func end() { continuation.finish() }
}

/// The open streams of this instance.
final class StreamSubscribers: Sendable {
    private struct State {
        var subscribers: [UInt64: StreamSubscriber] = [:]
        var lastNumbers: [User.ID: Int64] = [:]
        var number: UInt64 = 0
    }

    private let state = Lock(State())
    /// When the open streams of this instance were last confirmed in the database.
    let confirmedAt = Lock<Date?>(nil)
    private let capacity: Int
    private let capacityOfUser: Int
    private let open = Gauge(label: "roost_social_streams")

    init(capacity: Int, ofUser capacityOfUser: Int) {
        self.capacity = capacity
        self.capacityOfUser = capacityOfUser
    }

    /// Adds a subscriber; ends the user's oldest one if the user has too many.
    ///
    /// - Throws: `unavailable` if this instance has the maximum number of subscribers.
    func add(_ user: User.ID, session: String) throws -> StreamSubscriber {
        let (subscriber, oldest) = try state.withLock { state in
            guard state.subscribers.count < capacity else { throw APIError.unavailable("a stream") }
            state.number += 1
            let subscriber = StreamSubscriber(number: state.number, user: user, session: session)
            state.subscribers[subscriber.number] = subscriber
            let own = state.subscribers.values.filter { $0.user == user }
            let oldest = own.count > capacityOfUser ? own.min { $0.number < $1.number } : nil
            open.record(state.subscribers.count)
            return (subscriber, oldest)
        }
        oldest?.end()
        return subscriber
    }

    func remove(_ subscriber: StreamSubscriber) {
        subscriber.end()
        state.withLock { state in
            state.subscribers[subscriber.number] = nil
            if !state.subscribers.values.contains(where: { $0.user == subscriber.user }) {
                state.lastNumbers[subscriber.user] = nil
            }
            open.record(state.subscribers.count)
        }
    }

    /// The users with an open stream, each once.
    var users: [User.ID] { state.withLock { Array(Set($0.subscribers.values.map(\.user))) } }

    func wake(_ user: User.ID) {
        for subscriber in state.withLock({ $0.subscribers.values.filter { $0.user == user } }) {
            subscriber.wake(.changes)
        }
    }

    /// Wakes the users whose change log has a new last number.
    func wake(_ lastNumbers: [User.ID: Int64]) {
        let woken = state.withLock { state in
            lastNumbers.filter { state.lastNumbers.updateValue($0.value, forKey: $0.key) != $0.value }.map(\.key)
        }
        for user in woken { wake(user) }
    }

    func sendHeartbeats() {
        for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.wake(.heartbeat) }
    }

    func end(session: String) {
        for subscriber in state.withLock({ $0.subscribers.values.filter { $0.session == session } }) {
            subscriber.end()
        }
    }
}
