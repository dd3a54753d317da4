import DequeModule
import Locks
import NIOCore

/// Long-lived connections to one origin, which share the requests that are made of it.
///
/// A request goes at once to the connection with the most room, and waits here while none has any; a connection that
/// finishes some takes as many of those that wait in the same turn of its event loop. What a connection gives back as
/// surely not looked at goes to another one, in its old place.
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

    /// Whether nothing is open, and nobody waits.
    var isUnused: Bool { state.withLock { $0.isUnused } }

    func send(_ request: OutgoingRequest) async -> Exchange.Outcome {
        let exchange = Exchange(request, deadline: .now() + settings.requestTimeout)
        return await exchange.outcome { submit(exchange) }
    }

    private func submit(_ exchange: Exchange) {
        let (steps, isRefused) = state.withLock { state in
            guard !state.isShutDown, state.waiting.count < settings.waiting else { return (PoolSteps(), true) }
            state.waiting.append(exchange)
            return (state.advance(settings), false)
        }
        if isRefused { exchange.end(.failure(state.withLock { $0.isShutDown } ? .shutDown : .notSent)) }
        carryOut(steps)
    }

    private func carryOut(_ steps: PoolSteps) {
        for (connection, eventLoop) in steps.woken { eventLoop.execute { connection.value.wake() } }
        if let pause = steps.connects {
            let eventLoop = connector.group.next()
            if pause > .nanoseconds(0) {
                eventLoop.scheduleTask(in: pause) { self.connector.connect(self, on: eventLoop) }
            } else {
                eventLoop.execute { self.connector.connect(self, on: eventLoop) }
            }
        }
        if let deadline = steps.expires {
            connector.group.next().scheduleTask(deadline: deadline) { self.expire() }
        }
        for waiter in steps.ended { waiter.resume() }
    }

    /// Ends what has waited too long.
    private func expire() {
        let (overdue, steps) = state.withLock { state in
            state.isExpirySet = false
            return (state.takeOverdue(.now()), state.advance(settings))
        }
        for exchange in overdue { exchange.end(.failure(.notSent)) }
        carryOut(steps)
    }

    // MARK: What connections report

    func opened(
        _ id: ObjectIdentifier,
        _ connection: NIOLoopBound<any PooledConnection>,
        on eventLoop: any EventLoop,
        limit: Int
    ) {
        let (steps, isLate) = state.withLock { state in
            state.connecting -= 1
            state.alive += 1
            guard !state.isShutDown else { return (PoolSteps(), true) }
            state.members.append(PoolMember(id: id, connection: connection, eventLoop: eventLoop, limit: limit))
            return (state.advance(settings), false)
        }
        // A channel that is closed while it becomes active never tells its handlers that it is closed.
        if isLate { eventLoop.execute { connection.value.retire() } }
        carryOut(steps)
    }

    func couldNotConnect(_ failure: TransportFailure) {
        let (waiting, steps) = state.withLock { state in
            state.connecting -= 1
            state.mayConnect = .now() + settings.connectPause
            // While there is another connection, it serves them.
            guard state.members.isEmpty, state.connecting == 0 else { return ([Exchange](), state.advance(settings)) }
            let waiting = Array(state.waiting)
            state.waiting.removeAll()
            return (waiting, state.advance(settings))
        }
        for exchange in waiting { exchange.end(.failure(failure)) }
        carryOut(steps)
    }

    /// What a connection is to send now, after it has finished some.
    func turn(_ id: ObjectIdentifier, finished: Int) -> [Exchange] {
        state.withLock { $0.turn(id, finished: finished) }
    }

    func limitChanged(_ id: ObjectIdentifier, to limit: Int) {
        carryOut(
            state.withLock { state in
                state.changeLimit(of: id, to: limit)
                return state.advance(settings)
            }
        )
    }

    /// A request that one connection surely did nothing about goes to another, or to the same again.
    func giveBack(_ exchange: Exchange) {
        guard !exchange.isReturnedTooOften() else { return exchange.end(.failure(.lost("refused"))) }
        carryOut(
            state.withLock { state in
                state.waiting.prepend(exchange)
                return state.advance(settings)
            }
        )
    }

    /// A connection takes no more requests; what it gives back has surely had no effect.
    ///
    /// - Parameters:
    ///   - id: the connection.
    ///   - returned: what it gives back.
    ///   - hasServed: whether it has answered anything: one that has not is not followed by another at once.
    func retired(_ id: ObjectIdentifier, returning returned: [Exchange], hasServed: Bool) {
        var back: [Exchange] = []
        for exchange in returned {
            if exchange.isReturnedTooOften() {
                exchange.end(.failure(.lost("returned")))
            } else {
                back.append(exchange)
            }
        }
        let (dropped, steps) = state.withLock { state in
            state.takeBack(id, back)
            if !hasServed { state.mayConnect = .now() + settings.connectPause }
            guard state.isShutDown else { return ([Exchange](), state.advance(settings)) }
            let dropped = Array(state.waiting)
            state.waiting.removeAll()
            return (dropped, state.advance(settings))
        }
        for exchange in dropped { exchange.end(.failure(.shutDown)) }
        carryOut(steps)
    }

    /// A connection that was open has closed.
    func closed() {
        carryOut(
            state.withLock { state in
                state.alive -= 1
                return state.advance(settings)
            }
        )
    }

    // MARK: The end

    /// Takes no more, and returns when the last connection has closed.
    func shutdown() async {
        await withCheckedContinuation { continuation in
            let (members, waiting, isOver) = state.withLock { state in
                state.isShutDown = true
                let waiting = Array(state.waiting)
                state.waiting.removeAll()
                if !state.isUnused { state.enders.append(continuation) }
                return (state.members, waiting, state.isUnused)
            }
            for exchange in waiting { exchange.end(.failure(.shutDown)) }
            for member in members { member.eventLoop.execute { member.connection.value.retire() } }
            if isOver { continuation.resume() }
        }
    }
}
