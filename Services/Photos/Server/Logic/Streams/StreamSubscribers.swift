import Locks
import Metrics
import Wire

/// The subscribers of this instance, and the last change number of each application.
///
/// Subscribers are woken and then read at their own pace, so a slow one delays no other.
final class StreamSubscribers: Sendable {
    private struct State {
        var subscribers: [UInt64: StreamSubscriber] = [:]
        var byUser: [User.ID: [UInt64]] = [:]
        var changeNumbers: [String: Int64] = [:]
        var byApplication: [String: Set<UInt64>] = [:]
        var number: UInt64 = 0
    }

    private let state = Lock(State())
    private let capacity: Int
    private let capacityOfUser: Int
    private let open = Gauge(label: "roost_photos_streams")

    /// - Parameters:
    ///   - capacity: The maximum number of subscribers of the instance.
    ///   - capacityOfUser: The maximum number of subscribers of one user; one more ends the oldest.
    init(capacity: Int, perUser capacityOfUser: Int) {
        self.capacity = capacity
        self.capacityOfUser = capacityOfUser
    }

    /// - Throws: `unavailable` if the instance has `capacity` subscribers.
    func add(_ user: User.ID, session: String) throws -> StreamSubscriber {
        let (subscriber, oldest, count) = try state.withLock { state in
            guard state.subscribers.count < capacity else { throw APIError.unavailable("the stream") }
            state.number += 1
            let subscriber = StreamSubscriber(number: state.number, user: user, session: session)
            state.subscribers[subscriber.number] = subscriber
            state.byUser[user, default: []].append(subscriber.number)
            state.byApplication[user.application, default: []].insert(subscriber.number)
            let own = state.byUser[user] ?? []
            let oldest = own.count > capacityOfUser ? own.first.flatMap { state.subscribers[$0] } : nil
            return (subscriber, oldest, state.subscribers.count)
        }
        open.record(count)
        oldest?.end()
        return subscriber
    }

    func remove(_ subscriber: StreamSubscriber) {
        subscriber.end()
        let count = state.withLock { state in
            guard state.subscribers.removeValue(forKey: subscriber.number) != nil else {
                return state.subscribers.count
            }
            let (user, application) = (subscriber.user, subscriber.user.application)
            state.byUser[user]?.removeAll { $0 == subscriber.number }
            if state.byUser[user]?.isEmpty ?? false { state.byUser[user] = nil }
            state.byApplication[application]?.remove(subscriber.number)
            if state.byApplication[application]?.isEmpty ?? false {
                state.byApplication[application] = nil
                state.changeNumbers[application] = nil
            }
            return state.subscribers.count
        }
        open.record(count)
    }

    var changeNumbers: [String: Int64] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.byApplication.keys.map { ($0, state.changeNumbers[$0] ?? 0) })
        }
    }

    /// Wakes the subscribers of an application; returns false if the change number was already known or there are none.
    @discardableResult
    func wake(_ application: String, _ changeNumber: Int64) -> Bool {
        let woken = state.withLock { state -> [StreamSubscriber] in
            guard let numbers = state.byApplication[application],
                (state.changeNumbers[application] ?? -1) != changeNumber
            else {
                return []
            }
            state.changeNumbers[application] = changeNumber
            return numbers.compactMap { state.subscribers[$0] }
        }
        for subscriber in woken { subscriber.wake(.changes) }
        return !woken.isEmpty
    }

    /// Makes idle subscribers send a heartbeat, so that proxies and clients do not close the connection.
    func sendHeartbeats(after idleTime: Duration) {
        let moment = ContinuousClock.now - idleTime
        let idle = state.withLock { state in state.subscribers.values.filter { $0.isIdle(since: moment) } }
        for subscriber in idle { subscriber.wake(.heartbeat) }
    }

    func end(session: String) {
        let ended = state.withLock { state in state.subscribers.values.filter { $0.session == session } }
        for subscriber in ended { subscriber.end() }
    }
}
