import Metrics
import NIOCore

/// Selects an instance of a service, on one event loop.
///
/// The selection uses the power of two choices: of the next instance in turn and one other, it takes the one with fewer
/// requests in progress on this loop. An instance that hangs therefore receives only one or two requests more than the
/// others. If both instances are healthy, this is the whole algorithm. Otherwise the selection uses the first group
/// that is not empty:
///
/// 1. instances in rotation: ready, not ejected, circuit closed or with a free probe,
/// 2. instances that are recovering, whatever their share,
/// 3. all instances whose circuit is not open, because skipping them all would serve no request,
/// 4. none, if every circuit is open.
final class Balancer {
    enum Choice {
        case pool(UpstreamPool)
        /// No instance accepts the request before this number of seconds has passed.
        case noInstance(retryAfter: Int)

        static func noInstance(until time: NIODeadline, _ now: NIODeadline) -> Choice {
            .noInstance(retryAfter: max(1, Int(((time - now).nanoseconds + 999_999_999) / 1_000_000_000)))
        }
    }

    private(set) var cluster: UpstreamCluster
    private(set) var pools: [UpstreamPool]
    let retries: RetryCounters
    /// Requests since the last report, without retries, which must not earn further retries.
    private var unreported = 0
    private var nextIndex = 0
    private var random = FastRandomGenerator()

    init(cluster: UpstreamCluster, pools: [UpstreamPool]) {
        self.cluster = cluster
        self.pools = pools
        retries = RetryCounters(service: cluster.name)
    }

    func apply(cluster: UpstreamCluster, pools: [UpstreamPool]) {
        for pool in self.pools where !pools.contains(where: { $0 === pool }) { pool.retire() }
        self.cluster = cluster
        self.pools = pools
        nextIndex = 0
    }

    func countRequest() {
        unreported += 1
    }

    func choose(excluding tried: TriedPools = TriedPools(), asTunnel: Bool = false) -> Choice {
        let count = pools.count
        if tried.isEmpty, count == 1 {
            if pools[0].isOpenToAll { return .pool(pools[0]) }
        } else if tried.isEmpty {
            nextIndex = nextIndex + 1 < count ? nextIndex + 1 : 0
            let candidate = pools[nextIndex]
            let other = pools[(nextIndex + 1 + random.below(count - 1)) % count]
            let best = other.load(asTunnel: asTunnel) < candidate.load(asTunnel: asTunnel) ? other : candidate
            if candidate.isOpenToAll, other.isOpenToAll { return .pool(best) }
        }
        return chooseByHealth(excluding: tried, asTunnel: asTunnel)
    }

    /// Returns the instance with the sessions of `tag`, or nil when no instance has that tag.
    ///
    /// The rotation does not matter, because no other instance has the session. Only an open circuit excludes the
    /// instance.
    func choose(tagged tag: Substring) -> Choice? {
        guard let pool = pools.first(where: { $0.instance.tag == tag }) else { return nil }
        if pool.health.isHealthy { return .pool(pool) }
        let now = NIODeadline.now()
        if case .refused(let until) = pool.health.admission(now: now, chance: 0) {
            return .noInstance(until: until, now)
        }
        return pool.health.enter(now: now) ? .pool(pool) : .noInstance(until: now, now)
    }

    private func chooseByHealth(excluding tried: TriedPools, asTunnel: Bool) -> Choice {
        let now = NIODeadline.now()
        var soonest: NIODeadline?
        var inRotation: [UpstreamPool] = []
        var returning: [UpstreamPool] = []
        var others: [UpstreamPool] = []
        for offset in pools.indices {
            let pool = pools[(nextIndex + offset) % pools.count]
            guard !tried.contains(pool), pool.hasRoom else { continue }
            switch pool.health.admission(now: now, chance: random.chance()) {
            case .inRotation: inRotation.append(pool)
            // A draining instance will soon refuse connections; a recovering one will not.
            case .fallback where pool.health.healthStatus.isInRotation: returning.append(pool)
            case .fallback: others.append(pool)
            case .refused(let until): soonest = min(until, soonest ?? until)
            }
        }
        while let pool = Self.least(of: &inRotation, asTunnel: asTunnel)
            ?? Self.least(of: &returning, asTunnel: asTunnel) ?? Self.least(of: &others, asTunnel: asTunnel)
        {
            // Another loop may have used the last probe of a half-open circuit.
            if pool.health.enter(now: now) { return .pool(pool) }
        }
        return .noInstance(until: soonest ?? now, now)
    }

    private static func least(of pools: inout [UpstreamPool], asTunnel: Bool) -> UpstreamPool? {
        let best = pools.indices.min { pools[$0].load(asTunnel: asTunnel) < pools[$1].load(asTunnel: asTunnel) }
        return best.map { pools.remove(at: $0) }
    }

    /// Spends a retry from the budget; when it returns true, the caller must retry.
    func mayRetry() -> Bool {
        let now = NIODeadline.now()
        report(now)
        return cluster.budget.spend(now: now)
    }

    /// Reports new requests to the budget that all loops share.
    private func report(_ now: NIODeadline) {
        cluster.budget.earn(unreported, now: now)
        unreported = 0
    }

    func check(_ now: NIODeadline) {
        report(now)
        for pool in pools { pool.check(now) }
    }
}

/// The instances at which a request has failed; there are at most two, so no array is needed.
struct TriedPools {
    private var first: UpstreamPool?
    private var second: UpstreamPool?

    var isEmpty: Bool { first == nil }

    mutating func insert(_ pool: UpstreamPool) {
        if first == nil { first = pool } else { second = pool }
    }

    func contains(_ pool: UpstreamPool) -> Bool {
        first === pool || second === pool
    }
}

final class RetryCounters {
    let connect: Counter
    let broken: Counter
    let refused: Counter
    let hanging: Counter

    init(service: String) {
        func counter(_ reason: String) -> Counter {
            Counter(label: "roost_gateway_retries_total", dimensions: [("service", service), ("reason", reason)])
        }
        connect = counter("connect")
        broken = counter("broken")
        refused = counter("refused")
        hanging = counter("hanging")
    }
}
