import Locks
import Metrics
import Wire

/// Who listens to this instance, and how far each application has come.
///
/// A listener is woken, never told: it reads what it lacks when it can, so one that is slow keeps nothing waiting but itself.
final class StreamSubscribers: Sendable {
    private struct State {
        var subscribers: [UInt64: StreamSubscriber] = [:]
        var byUser: [User.ID: [UInt64]] = [:]
        /// The last place that was heard of, for each application that somebody listens to.
        var changeNumbers: [String: Int64] = [:]
        var byApplication: [String: Set<UInt64>] = [:]
        var number: UInt64 = 0
    }

    private let state = Lock(State())
    private let capacity: Int
    private let capacityOfUser: Int
    private let open = Gauge(label: "roost_photos_streams")

    /// - Parameters:
    ///   - capacity: how many there may be in all.
    ///   - capacityOfUser: of one user; the one that he opened first goes for one more.
    init(capacity: Int, perUser capacityOfUser: Int) {
        self.capacity = capacity
        self.capacityOfUser = capacityOfUser
    }

    /// - Throws: `unavailable` where there are as many as there may be.
    func add(_ user: User.ID, session: String) throws -> StreamSubscriber {
        let (subscriber, oldest, count) = try state.withLock { state in
            guard state.subscribers.count < capacity else { throw APIError.unavailable("a stream") }
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

    /// The applications that somebody listens to, and how far each was heard to have come.
    var changeNumbers: [String: Int64] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.byApplication.keys.map { ($0, state.changeNumbers[$0] ?? 0) })
        }
    }

    /// Wakes those who listen to an application, which has come so far; false where that was known, or nobody listens.
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

    /// Has those say something who were silent for so long, so that nobody takes them for gone.
    func sendHeartbeats(after idleTime: Duration) {
        let moment = ContinuousClock.now - idleTime
        let idle = state.withLock { state in state.subscribers.values.filter { $0.isIdle(since: moment) } }
        for subscriber in idle { subscriber.wake(.heartbeat) }
    }

    /// A session is over, and what was opened by it with it.
    func end(session: String) {
        let ended = state.withLock { state in state.subscribers.values.filter { $0.session == session } }
        for subscriber in ended { subscriber.end() }
    }
}
