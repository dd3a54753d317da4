import Metrics
import NIOCore
import NIOHTTP1
import ServiceHost

/// Something on an event loop that has deadlines and must end when the gateway stops.
protocol Watched: AnyObject {
    /// Its place in the loop's list.
    var place: Int { get set }
    func check(_ now: NIODeadline)
    /// Ends as soon as it may.
    func drain()
    /// Ends now.
    func cutOff()
    /// Since when it is a connection that nothing is asked of; nil for all else.
    var idleSince: NIODeadline? { get }
    /// The address that its connection counts for; nil where there is none.
    var connectionKey: UInt64? { get }
}

extension Watched {
    var idleSince: NIODeadline? { nil }
    var connectionKey: UInt64? { nil }
}

/// All that belongs to one event loop: its connections, its pools, its deadlines.
///
/// One coarse ticker looks at all deadlines, so that a request costs no timer. Everything here is touched on the loop
/// alone, which makes the unchecked claim true.
final class EdgeLoop: @unchecked Sendable {
    let eventLoop: any EventLoop
    private(set) var edge: Edge
    /// By service, as in the configuration.
    let balancers: [Balancer]
    let counters: LoopCounters
    let deflaters = DeflaterCount()
    var ids = TraceIDs()
    private(set) var isDraining = false
    private var watched: [any Watched] = []
    private var drained: EventLoopPromise<Void>?
    private var ticker: RepeatedTask?
    /// Not before then is it worth looking for idle connections.
    private var roomAgain = NIODeadline.uptimeNanoseconds(0)
    var clock = HTTPClock()

    init(eventLoop: any EventLoop, edge: Edge) {
        self.eventLoop = eventLoop
        self.edge = edge
        balancers = edge.fleets.map { fleet in
            Balancer(fleet: fleet, pools: fleet.instances.map { Self.pool(of: $0, edge: edge, eventLoop: eventLoop) })
        }
        counters = LoopCounters(routes: edge.routes.routes)
    }

    private static func pool(of health: InstanceHealth, edge: Edge, eventLoop: any EventLoop) -> UpstreamPool {
        UpstreamPool(
            health: health,
            eventLoop: eventLoop,
            configuration: edge.configuration,
            loops: edge.loopCount
        )
    }

    func start() {
        let tick = edge.configuration.tick
        ticker = eventLoop.scheduleRepeatedTask(initialDelay: tick, delay: tick) { _ in
            self.check(.now())
        }
    }

    /// Goes on with other settings and other instances; requests under way finish where they are.
    func take(_ edge: Edge) {
        self.edge = edge
        for (balancer, fleet) in zip(balancers, edge.fleets) {
            let pools = fleet.instances.map { health in
                let known = balancer.pools.first { $0.health === health }
                known?.take(edge.configuration, loops: edge.loopCount)
                return known ?? Self.pool(of: health, edge: edge, eventLoop: eventLoop)
            }
            balancer.take(fleet: fleet, pools: pools)
        }
        guard let ticker else { return }
        ticker.cancel()
        start()
    }

    func watch(_ one: any Watched) {
        one.place = watched.count
        watched.append(one)
        if isDraining { one.drain() }
    }

    func unwatch(_ one: any Watched) {
        guard one.place >= 0, let last = watched.popLast() else { return }
        if last !== one {
            watched[one.place] = last
            last.place = one.place
        }
        one.place = -1
        if isDraining && watched.isEmpty { drained?.succeed() }
    }

    private func check(_ now: NIODeadline) {
        // From the end, since one that ends is replaced by the last.
        for place in watched.indices.reversed() where place < watched.count {
            watched[place].check(now)
        }
        for balancer in balancers { balancer.check(now) }
        makeRoom(now)
        edge.connections.show()
    }

    /// Closes idle connections where nearly all that there may be are open, so that a client with a request finds room.
    ///
    /// The addresses with the most connections lose theirs first, and of one address the connections that are idle for
    /// the longest. So many are closed at once that looking at all of them costs a newcomer next to nothing; where too
    /// few are idle for that, it is looked at a few times a second.
    @discardableResult func makeRoom(_ now: NIODeadline) -> Int {
        let connections = edge.connections
        let (open, limit) = (connections.count, edge.configuration.connectionLimit)
        guard open > limit - limit / 20, now >= roomAgain else { return 0 }
        let counts = connections.byAddress()
        let idle = watched.compactMap { one -> (one: any Watched, since: NIODeadline, count: Int)? in
            guard let since = one.idleSince else { return nil }
            return (one, since, one.connectionKey.flatMap { counts[$0] } ?? 0)
        }.sorted { ($1.count, $0.since) < ($0.count, $1.since) }
        // The other loops close their share.
        let share = max(1, (open - limit + limit / 10) / max(1, edge.loopCount))
        if idle.count < share { roomAgain = now + .milliseconds(100) }
        for victim in idle.prefix(share) { victim.one.cutOff() }
        let closed = min(share, idle.count)
        connections.evicted(closed)
        return closed
    }

    // MARK: Stopping

    /// Lets what is under way finish; the future is done when all is.
    func drain() -> EventLoopFuture<Void> {
        eventLoop.flatSubmit { [self] in
            isDraining = true
            let promise = eventLoop.makePromise(of: Void.self)
            drained = promise
            for one in watched { one.drain() }
            if watched.isEmpty { promise.succeed() }
            return promise.futureResult
        }
    }

    func stop() -> EventLoopFuture<Void> {
        eventLoop.submit { [self] in
            ticker?.cancel()
            ticker = nil
            for one in watched { one.cutOff() }
            for pool in balancers.flatMap(\.pools) { pool.closeIdle() }
        }
    }
}
