import Locks
import Metrics
import Wire

/// Who listens to this instance, and how far each application has come.
///
/// A listener is woken, never told: it reads what it lacks when it can, so one that is slow keeps nothing waiting but itself.
final class Listeners: Sendable {
    private struct State {
        var listeners: [UInt64: Listener] = [:]
        var ofUser: [User.ID: [UInt64]] = [:]
        /// The last place that was heard of, for each application that somebody listens to.
        var places: [String: Int64] = [:]
        var ofApplication: [String: Set<UInt64>] = [:]
        var number: UInt64 = 0
    }

    private let state = Lock(State())
    private let capacity: Int
    private let capacityOfUser: Int
    private let open = Gauge(label: "roost_photos_streams")

    /// - Parameters:
    ///   - capacity: how many there may be in all.
    ///   - capacityOfUser: of one user; the one that he opened first goes for one more.
    init(capacity: Int, ofUser capacityOfUser: Int) {
        self.capacity = capacity
        self.capacityOfUser = capacityOfUser
    }

    /// - Throws: `unavailable` where there are as many as there may be.
    func add(_ user: User.ID, session: String) throws -> Listener {
        let (listener, oldest, count) = try state.withLock { state in
            guard state.listeners.count < capacity else { throw APIError.unavailable("a stream") }
            state.number += 1
            let listener = Listener(number: state.number, user: user, session: session)
            state.listeners[listener.number] = listener
            state.ofUser[user, default: []].append(listener.number)
            state.ofApplication[user.application, default: []].insert(listener.number)
            let own = state.ofUser[user] ?? []
            let oldest = own.count > capacityOfUser ? own.first.flatMap { state.listeners[$0] } : nil
            return (listener, oldest, state.listeners.count)
        }
        open.record(count)
        oldest?.end()
        return listener
    }

    func remove(_ listener: Listener) {
        listener.end()
        let count = state.withLock { state in
            guard state.listeners.removeValue(forKey: listener.number) != nil else { return state.listeners.count }
            let (user, application) = (listener.user, listener.user.application)
            state.ofUser[user]?.removeAll { $0 == listener.number }
            if state.ofUser[user]?.isEmpty ?? false { state.ofUser[user] = nil }
            state.ofApplication[application]?.remove(listener.number)
            if state.ofApplication[application]?.isEmpty ?? false {
                state.ofApplication[application] = nil
                state.places[application] = nil
            }
            return state.listeners.count
        }
        open.record(count)
    }

    /// The applications that somebody listens to, and how far each was heard to have come.
    var places: [String: Int64] {
        state.withLock { state in
            Dictionary(uniqueKeysWithValues: state.ofApplication.keys.map { ($0, state.places[$0] ?? 0) })
        }
    }

    /// Wakes those who listen to an application, which has come so far; false where that was known, or nobody listens.
    @discardableResult
    func wake(_ application: String, _ place: Int64) -> Bool {
        let woken = state.withLock { state -> [Listener] in
            guard let numbers = state.ofApplication[application], (state.places[application] ?? -1) != place else {
                return []
            }
            state.places[application] = place
            return numbers.compactMap { state.listeners[$0] }
        }
        for listener in woken { listener.wake(.news) }
        return !woken.isEmpty
    }

    /// Has those say something who were silent for so long, so that nobody takes them for gone.
    func beat(after silence: Duration) {
        let moment = ContinuousClock.now - silence
        let silent = state.withLock { state in state.listeners.values.filter { $0.isSilent(since: moment) } }
        for listener in silent { listener.wake(.heartbeat) }
    }

    /// A session is over, and what was opened by it with it.
    func end(session: String) {
        let ended = state.withLock { state in state.listeners.values.filter { $0.session == session } }
        for listener in ended { listener.end() }
    }
}
