import Foundation
import Metrics
import NIOCore
import NIOHTTP1
import Synchronization

/// Something on an event loop that has deadlines and must end when the gateway stops.
protocol Watched: AnyObject {
    /// Its place in the loop's list.
    var place: Int { get set }
    func check(_ now: NIODeadline)
    /// Ends as soon as it may.
    func drain()
    /// Ends now.
    func cutOff()
}

/// All that belongs to one event loop: its connections, its pools, its deadlines.
///
/// One coarse ticker looks at all deadlines, so that a request costs no timer. Everything here is touched on the loop
/// alone, which makes the unchecked claim true.
final class EdgeLoop: @unchecked Sendable {
    let eventLoop: any EventLoop
    let edge: Edge
    /// By service, then by instance.
    let pools: [[UpstreamPool]]
    let counters: LoopCounters
    var ids = TraceIDs()
    private(set) var isDraining = false
    private var turns: [Int]
    private var watched: [any Watched] = []
    private var drained: EventLoopPromise<Void>?
    private var ticker: RepeatedTask?
    private var dateCache = (second: Int.min, text: "")

    init(eventLoop: any EventLoop, edge: Edge) {
        self.eventLoop = eventLoop
        self.edge = edge
        pools = edge.configuration.services.map { service in
            service.instances.map { instance in
                UpstreamPool(
                    instance: instance,
                    eventLoop: eventLoop,
                    configuration: edge.configuration,
                    limit: max(1, edge.configuration.upstreamConnectionLimit / edge.loopCount)
                )
            }
        }
        turns = edge.configuration.services.map { _ in 0 }
        counters = LoopCounters(routes: edge.routes.routes)
    }

    func start() {
        let tick = edge.configuration.tick
        ticker = eventLoop.scheduleRepeatedTask(initialDelay: tick, delay: tick) { _ in
            self.check(.now())
        }
    }

    /// The instance whose turn it is.
    func pool(of service: Int) -> UpstreamPool {
        let pools = pools[service]
        guard pools.count > 1 else { return pools[0] }
        turns[service] = (turns[service] + 1) % pools.count
        return pools[turns[service]]
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
        for pool in pools.joined() { pool.reap(now) }
        edge.connectionGauge.record(edge.connectionCount.load(ordering: .relaxed))
    }

    /// The time as `Date` has it, made once a second.
    var httpDate: String {
        let second = time(nil)
        if second != dateCache.second { dateCache = (second, HTTPDate.text(second)) }
        return dateCache.text
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
            for one in watched { one.cutOff() }
            for pool in pools.joined() { pool.closeIdle() }
        }
    }
}
