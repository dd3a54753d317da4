import DequeModule
import Locks
import NIOCore

/// A pool of connections to one origin, which share the requests to that origin.
///
/// A request goes to the connection with the lowest load, or waits until a connection has capacity. When a connection
/// finishes requests, it takes waiting requests in the same event-loop turn. A connection may return requests that it
/// did not process. They go to another connection, before all waiting requests.
final class ConnectionPool: Sendable {
    let origin: Origin
    let settings: PoolSettings
    private let connector: Connector
    private let state = Lock(PoolState())

    init(origin: Origin, connector: Connector, settings: PoolSettings) {
        self.origin = origin
        self.connector = connector
        self.settings = settings
    }

    var isUnused: Bool { state.withLock { $0.isUnused } }

    func send(_ request: OutgoingRequest) async -> PendingRequest.Outcome {
        let pendingRequest = PendingRequest(request, deadline: .now() + settings.requestTimeout)
        return await pendingRequest.outcome { submit(pendingRequest) }
    }

    private func submit(_ pendingRequest: PendingRequest) {
        let (actions, isRefused) = state.withLock { state in
            guard !state.isShutDown, state.waiting.count < settings.waiting else { return (PoolActions(), true) }
            state.waiting.append(pendingRequest)
            return (state.advance(settings), false)
        }
        if isRefused { pendingRequest.end(.failure(state.withLock { $0.isShutDown } ? .shutDown : .notSent)) }
        perform(actions)
    }

    private func perform(_ actions: PoolActions) {
        for (connection, eventLoop) in actions.woken { eventLoop.execute { connection.value.wake() } }
        if let pause = actions.connectDelay {
            let eventLoop = connector.group.next()
            if pause > .nanoseconds(0) {
                eventLoop.scheduleTask(in: pause) { self.connector.connect(self, on: eventLoop) }
            } else {
                eventLoop.execute { self.connector.connect(self, on: eventLoop) }
            }
        }
        if let deadline = actions.expires {
            connector.group.next().scheduleTask(deadline: deadline) { self.expire() }
        }
        for waiter in actions.ended { waiter.resume() }
    }

    private func expire() {
        let (overdue, actions) = state.withLock { state in
            state.isExpiryScheduled = false
            return (state.removeExpired(.now()), state.advance(settings))
        }
        for pendingRequest in overdue { pendingRequest.end(.failure(.notSent)) }
        perform(actions)
    }

    // MARK: Reports from connections

    func opened(
        _ id: ObjectIdentifier,
        _ connection: NIOLoopBound<any PooledConnection>,
        on eventLoop: any EventLoop,
        limit: Int
    ) {
        let (actions, isLate) = state.withLock { state in
            state.connecting -= 1
            state.alive += 1
            guard !state.isShutDown else { return (PoolActions(), true) }
            state.members.append(PoolMember(id: id, connection: connection, eventLoop: eventLoop, limit: limit))
            return (state.advance(settings), false)
        }
        // NIO does not report the close of a channel that closes while it becomes active, so the close runs later.
        if isLate { eventLoop.execute { connection.value.retire() } }
        perform(actions)
    }

    func connectFailed(_ failure: TransportFailure) {
        let (waiting, actions) = state.withLock { state in
            state.connecting -= 1
            state.nextConnectAt = .now() + settings.connectPause
            // Another connection serves the waiting requests.
            guard state.members.isEmpty, state.connecting == 0 else {
                return ([PendingRequest](), state.advance(settings))
            }
            let waiting = Array(state.waiting)
            state.waiting.removeAll()
            return (waiting, state.advance(settings))
        }
        for pendingRequest in waiting { pendingRequest.end(.failure(failure)) }
        perform(actions)
    }

    /// Returns the requests that a connection sends next, after `finished` requests have ended.
    func takeRequests(_ id: ObjectIdentifier, finished: Int) -> [PendingRequest] {
        state.withLock { $0.takeRequests(id, finished: finished) }
    }

    func limitChanged(_ id: ObjectIdentifier, to limit: Int) {
        perform(
            state.withLock { state in
                state.changeLimit(of: id, to: limit)
                return state.advance(settings)
            }
        )
    }

    /// Sends a request again if its connection did not process it.
    ///
    /// A request that was returned more than three times fails.
    func requeue(_ pendingRequest: PendingRequest) {
        guard !pendingRequest.isReturnedTooOften() else { return pendingRequest.end(.failure(.lost("refused"))) }
        perform(
            state.withLock { state in
                state.waiting.prepend(pendingRequest)
                return state.advance(settings)
            }
        )
    }

    /// Removes a connection from the pool.
    ///
    /// - Parameters:
    ///   - id: the connection.
    ///   - returned: requests that the connection did not process.
    ///   - hasServed: whether the connection received a response; if not, the next attempt to connect is delayed.
    func retired(_ id: ObjectIdentifier, returning returned: [PendingRequest], hasServed: Bool) {
        var back: [PendingRequest] = []
        for pendingRequest in returned {
            if pendingRequest.isReturnedTooOften() {
                pendingRequest.end(.failure(.lost("returned")))
            } else {
                back.append(pendingRequest)
            }
        }
        let (dropped, actions) = state.withLock { state in
            state.reclaim(id, back)
            if !hasServed { state.nextConnectAt = .now() + settings.connectPause }
            guard state.isShutDown else { return ([PendingRequest](), state.advance(settings)) }
            let dropped = Array(state.waiting)
            state.waiting.removeAll()
            return (dropped, state.advance(settings))
        }
        for pendingRequest in dropped { pendingRequest.end(.failure(.shutDown)) }
        perform(actions)
    }

    func closed() {
        perform(
            state.withLock { state in
                state.alive -= 1
                return state.advance(settings)
            }
        )
    }

    // MARK: Shutdown

    /// Rejects new requests; returns after the last connection has closed.
    func shutdown() async {
        await withCheckedContinuation { continuation in
            let (members, waiting, isOver) = state.withLock { state in
                state.isShutDown = true
                let waiting = Array(state.waiting)
                state.waiting.removeAll()
                if !state.isUnused { state.shutdownWaiters.append(continuation) }
                return (state.members, waiting, state.isUnused)
            }
            for pendingRequest in waiting { pendingRequest.end(.failure(.shutDown)) }
            for member in members { member.eventLoop.execute { member.connection.value.retire() } }
            if isOver { continuation.resume() }
        }
    }
}
