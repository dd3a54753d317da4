import Metrics
import NIOCore
import NIOHTTP1
import ServiceHost

/// An object on an event loop with deadlines, which must end when the gateway stops.
protocol ManagedConnection: AnyObject {
    var listIndex: Int { get set }
    func check(_ now: NIODeadline)
    /// Ends as soon as its request allows.
    func drain()
    func closeNow()
    /// The time since which the connection is idle; nil for a busy connection and for other objects.
    var idleSince: NIODeadline? { get }
    var connectionKey: UInt64? { get }
}

extension ManagedConnection {
    var idleSince: NIODeadline? { nil }
    var connectionKey: UInt64? { nil }
}

/// The state of one event loop: its connections, pools and deadlines.
///
/// One coarse timer checks all deadlines, so a request needs no timer of its own. All members are used on the event
/// loop only, which makes `@unchecked Sendable` correct.
final class GatewayLoop: @unchecked Sendable {
    let eventLoop: any EventLoop
    private(set) var state: GatewayState
    /// By service, in the order of the configuration.
    let balancers: [Balancer]
    let counters: LoopMetrics
    let deflaters = DeflaterCounter()
    var ids = FastRandomGenerator()
    private(set) var isDraining = false
    private var managed: [any ManagedConnection] = []
    private var drained: EventLoopPromise<Void>?
    private var ticker: RepeatedTask?
    /// The earliest time for another search for idle connections.
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

    /// Applies other settings and instances; requests in progress finish at their instances.
    func apply(_ state: GatewayState) {
        self.state = state
        for (balancer, cluster) in zip(balancers, state.clusters) {
            let pools = cluster.instances.map { health in
                let existing = balancer.pools.first { $0.health === health }
                existing?.apply(state.configuration, loops: state.loopCount)
                return existing ?? Self.pool(of: health, state: state, eventLoop: eventLoop)
            }
            balancer.apply(cluster: cluster, pools: pools)
        }
        guard let ticker else { return }
        ticker.cancel()
        start()
    }

    func track(_ entry: any ManagedConnection) {
        entry.listIndex = managed.count
        managed.append(entry)
        if isDraining { entry.drain() }
    }

    func untrack(_ entry: any ManagedConnection) {
        guard entry.listIndex >= 0, let last = managed.popLast() else { return }
        if last !== entry {
            managed[entry.listIndex] = last
            last.listIndex = entry.listIndex
        }
        entry.listIndex = -1
        if isDraining && managed.isEmpty { drained?.succeed() }
    }

    private func check(_ now: NIODeadline) {
        // In reverse order, because the last connection replaces one that ends.
        for listIndex in managed.indices.reversed() where listIndex < managed.count {
            managed[listIndex].check(now)
        }
        for balancer in balancers { balancer.check(now) }
        evictIdleConnections(now)
        state.connections.recordGauges()
    }

    /// Closes idle connections when nearly all allowed connections are open, so that a new client can connect.
    ///
    /// Connections of the addresses with the most connections close first, and among these the longest idle ones. Each
    /// search closes many connections, so its cost per new connection is very small. When too few are idle, the next
    /// search waits for 100 ms.
    @discardableResult func evictIdleConnections(_ now: NIODeadline) -> Int {
        let connections = state.connections
        let (open, limit) = (connections.count, state.configuration.connectionLimit)
        guard open > limit - limit / 20, now >= nextEviction else { return 0 }
        let counts = connections.byAddress()
        let idle = managed.compactMap { entry -> (entry: any ManagedConnection, since: NIODeadline, count: Int)? in
            guard let since = entry.idleSince else { return nil }
            return (entry, since, entry.connectionKey.flatMap { counts[$0] } ?? 0)
        }.sorted { ($1.count, $0.since) < ($0.count, $1.since) }
        // The other loops close their share.
        let share = max(1, (open - limit + limit / 10) / max(1, state.loopCount))
        if idle.count < share { nextEviction = now + .milliseconds(100) }
        for victim in idle.prefix(share) { victim.entry.closeNow() }
        let closed = min(share, idle.count)
        connections.evicted(closed)
        return closed
    }

    // MARK: Stopping

    /// Lets requests in progress finish; the future completes when all connections have ended.
    func drain() -> EventLoopFuture<Void> {
        eventLoop.flatSubmit { [self] in
            isDraining = true
            let promise = eventLoop.makePromise(of: Void.self)
            drained = promise
            for entry in managed { entry.drain() }
            if managed.isEmpty { promise.succeed() }
            return promise.futureResult
        }
    }

    func stop() -> EventLoopFuture<Void> {
        eventLoop.submit { [self] in
            ticker?.cancel()
            ticker = nil
            for entry in managed { entry.closeNow() }
            for pool in balancers.flatMap(\.pools) { pool.closeIdle() }
        }
    }
}
