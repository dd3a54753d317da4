import Metrics
import NIOCore
import NIOHTTP1
import ServiceHost

/// Something on an event loop that has deadlines and must end when the gateway stops.
protocol ManagedConnection: AnyObject {
    /// Its place in the loop's list.
    var listIndex: Int { get set }
    func check(_ now: NIODeadline)
    /// Ends as soon as it may.
    func drain()
    /// Ends now.
    func closeNow()
    /// Since when it is a connection that nothing is asked of; nil for all else.
    var idleSince: NIODeadline? { get }
    /// The address that its connection counts for; nil where there is none.
    var connectionKey: UInt64? { get }
}

extension ManagedConnection {
    var idleSince: NIODeadline? { nil }
    var connectionKey: UInt64? { nil }
}

/// All that belongs to one event loop: its connections, its pools, its deadlines.
///
/// One coarse ticker looks at all deadlines, so that a request costs no timer. Everything here is touched on the loop
/// alone, which makes the unchecked claim true.
final class GatewayLoop: @unchecked Sendable {
    let eventLoop: any EventLoop
    private(set) var state: GatewayState
    /// By service, as in the configuration.
    let balancers: [Balancer]
    let counters: LoopMetrics
    let deflaters = DeflaterCounter()
    var ids = FastRandomGenerator()
    private(set) var isDraining = false
    private var managed: [any ManagedConnection] = []
    private var drained: EventLoopPromise<Void>?
    private var ticker: RepeatedTask?
    /// Not before then is it worth looking for idle connections.
    private var nextEviction = NIODeadline.uptimeNanoseconds(0)
    var clock = HTTPClock()

    init(eventLoop: any EventLoop, state: GatewayState) {
        self.eventLoop = eventLoop
        self.state = state
        balancers = state.clusters.map { cluster in
            Balancer(
                cluster: cluster,
                pools: cluster.instances.map { Self.pool(of: $0, state: state, eventLoop: eventLoop) }
            )
        }
        counters = LoopMetrics(routes: state.routes.routes)
    }

    private static func pool(of health: InstanceHealth, state: GatewayState, eventLoop: any EventLoop) -> UpstreamPool {
        UpstreamPool(
            health: health,
            eventLoop: eventLoop,
            configuration: state.configuration,
            loops: state.loopCount
        )
    }

    func start() {
        let tick = state.configuration.tick
        ticker = eventLoop.scheduleRepeatedTask(initialDelay: tick, delay: tick) { _ in
            self.check(.now())
        }
    }

    /// Goes on with other settings and other instances; requests under way finish where they are.
    func apply(_ state: GatewayState) {
        self.state = state
        for (balancer, cluster) in zip(balancers, state.clusters) {
            let pools = cluster.instances.map { health in
                let known = balancer.pools.first { $0.health === health }
                known?.apply(state.configuration, loops: state.loopCount)
                return known ?? Self.pool(of: health, state: state, eventLoop: eventLoop)
            }
            balancer.apply(cluster: cluster, pools: pools)
        }
        guard let ticker else { return }
        ticker.cancel()
        start()
    }

    func track(_ one: any ManagedConnection) {
        one.listIndex = managed.count
        managed.append(one)
        if isDraining { one.drain() }
    }

    func untrack(_ one: any ManagedConnection) {
        guard one.listIndex >= 0, let last = managed.popLast() else { return }
        if last !== one {
            managed[one.listIndex] = last
            last.listIndex = one.listIndex
        }
        one.listIndex = -1
        if isDraining && managed.isEmpty { drained?.succeed() }
    }

    private func check(_ now: NIODeadline) {
        // From the end, since one that ends is replaced by the last.
        for listIndex in managed.indices.reversed() where listIndex < managed.count {
            managed[listIndex].check(now)
        }
        for balancer in balancers { balancer.check(now) }
        evictIdleConnections(now)
        state.connections.recordGauges()
    }

    /// Closes idle connections where nearly all that there may be are open, so that a client with a request finds room.
    ///
    /// The addresses with the most connections lose theirs first, and of one address the connections that are idle for
    /// the longest. So many are closed at once that looking at all of them costs a newcomer next to nothing; where too
    /// few are idle for that, it is looked at a few times a second.
    @discardableResult func evictIdleConnections(_ now: NIODeadline) -> Int {
        let connections = state.connections
        let (open, limit) = (connections.count, state.configuration.connectionLimit)
        guard open > limit - limit / 20, now >= nextEviction else { return 0 }
        let counts = connections.byAddress()
        let idle = managed.compactMap { one -> (one: any ManagedConnection, since: NIODeadline, count: Int)? in
            guard let since = one.idleSince else { return nil }
            return (one, since, one.connectionKey.flatMap { counts[$0] } ?? 0)
        }.sorted { ($1.count, $0.since) < ($0.count, $1.since) }
        // The other loops close their share.
        let share = max(1, (open - limit + limit / 10) / max(1, state.loopCount))
        if idle.count < share { nextEviction = now + .milliseconds(100) }
        for victim in idle.prefix(share) { victim.one.closeNow() }
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
            for one in managed { one.drain() }
            if managed.isEmpty { promise.succeed() }
            return promise.futureResult
        }
    }

    func stop() -> EventLoopFuture<Void> {
        eventLoop.submit { [self] in
            ticker?.cancel()
            ticker = nil
            for one in managed { one.closeNow() }
            for pool in balancers.flatMap(\.pools) { pool.closeIdle() }
        }
    }
}
