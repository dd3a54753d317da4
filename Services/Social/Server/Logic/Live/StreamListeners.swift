import Foundation
import Locks
import Metrics
import Synchronization
import Wire

/// One who listens to what changes for him.
final class StreamListener: Sendable {
    enum Wake: Sendable { case news, heartbeat }

    let number: UInt64
    let user: User.ID
    let session: String
    /// What he is woken by; ends with him.
    let wakes: AsyncStream<Wake>
    private let waker: AsyncStream<Wake>.Continuation
    private let hasNews = Atomic<Bool>(false)

    fileprivate init(number: UInt64, user: User.ID, session: String) {
        self.number = number
        self.user = user
        self.session = session
        // What he was not woken by in time he reads with the next.
        (wakes, waker) = AsyncStream<Wake>.makeStream(bufferingPolicy: .bufferingNewest(1))
        waker.yield(.news)
    }

    func wake(_ reason: Wake) {
        if reason == .news { hasNews.store(true, ordering: .sequentiallyConsistent) }
        waker.yield(reason)
    }

    /// Whether there was news since this was asked last; a heartbeat may have taken the place of its wake.
    func takeNews() -> Bool { hasNews.exchange(false, ordering: .sequentiallyConsistent) }

    func end() { waker.finish() }
}

/// Who listens at this instance.
final class StreamListeners: Sendable {
    private struct State {
        var listeners: [UInt64: StreamListener] = [:]
        var places: [User.ID: Int64] = [:]
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

    /// - Throws: `unavailable` where there are as many as there may be.
    func add(_ user: User.ID, session: String) throws -> StreamListener {
        let (listener, oldest) = try state.withLock { state in
            guard state.listeners.count < capacity else { throw APIError.unavailable("a stream") }
            state.number += 1
            let listener = StreamListener(number: state.number, user: user, session: session)
            state.listeners[listener.number] = listener
            let own = state.listeners.values.filter { $0.user == user }
            let oldest = own.count > capacityOfUser ? own.min { $0.number < $1.number } : nil
            open.record(state.listeners.count)
            return (listener, oldest)
        }
        oldest?.end()
        return listener
    }

    func remove(_ listener: StreamListener) {
        listener.end()
        state.withLock { state in
            state.listeners[listener.number] = nil
            if !state.listeners.values.contains(where: { $0.user == listener.user }) {
                state.places[listener.user] = nil
            }
            open.record(state.listeners.count)
        }
    }

    /// Everybody who listens, once.
    var users: [User.ID] { state.withLock { Array(Set($0.listeners.values.map(\.user))) } }

    func wake(_ user: User.ID) {
        for listener in state.withLock({ $0.listeners.values.filter { $0.user == user } }) { listener.wake(.news) }
    }

    /// Wakes those whose journal has come further than it was known to.
    func wake(_ places: [User.ID: Int64]) {
        let woken = state.withLock { state in
            places.filter { state.places.updateValue($0.value, forKey: $0.key) != $0.value }.map(\.key)
        }
        for user in woken { wake(user) }
    }

    func beat() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.wake(.heartbeat) }
    }

    func end(session: String) {
        for listener in state.withLock({ $0.listeners.values.filter { $0.session == session } }) { listener.end() }
    }
}
