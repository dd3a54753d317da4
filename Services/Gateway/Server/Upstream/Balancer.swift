import Metrics
import NIOCore

/// Chooses among the instances of a service, on one event loop.
///
/// The power of two choices: of the instance whose turn it is and one other, the one with fewer requests under way on
/// this loop. So an instance that hangs gets a request or two more than the others, and no flood of them. While nothing
/// stands against either, that is all there is to it; otherwise the choice is made with care, among
///
/// 1. those in turn: ready, not ejected, circuit closed or with a probe to spare,
/// 2. if there are none, those that are coming back, whatever their share,
/// 3. then all whose circuit is not open (to pass over everybody would serve nobody),
/// 4. and if every circuit is open, none.
final class Balancer {
    enum Choice {
        case pool(UpstreamPool)
        /// There is none that may be asked; one may be in so many seconds.
        case noInstance(retryAfter: Int)

        static func noInstance(until time: NIODeadline, _ now: NIODeadline) -> Choice {
            .noInstance(retryAfter: max(1, Int(((time - now).nanoseconds + 999_999_999) / 1_000_000_000)))
        }
    }

    private(set) var cluster: UpstreamCluster
    private(set) var pools: [UpstreamPool]
    let retries: RetryCounters
    /// Requests since the last time that they were told, without second tries: those must not earn others.
    private var unreported = 0
    private var nextIndex = 0
    private var random = FastRandomGenerator()

    init(cluster: UpstreamCluster, pools: [UpstreamPool]) {
        self.cluster = cluster
        self.pools = pools
        retries = RetryCounters(service: cluster.name)
    }

    /// Takes up other instances; those that are gone finish what they have.
    func apply(cluster: UpstreamCluster, pools: [UpstreamPool]) {
        for pool in self.pools where !pools.contains(where: { $0 === pool }) { pool.retire() }
        self.cluster = cluster
        self.pools = pools
        nextIndex = 0
    }

    /// A request came.
    func countRequest() {
        unreported += 1
    }

    /// An instance for a request that `tried` those already.
    func choose(excluding tried: TriedPools = TriedPools(), asTunnel: Bool = false) -> Choice {
        let count = pools.count
        if tried.isEmpty, count == 1 {
            if pools[0].isOpenToAll { return .pool(pools[0]) }
        } else if tried.isEmpty {
            nextIndex = nextIndex + 1 < count ? nextIndex + 1 : 0
            let one = pools[nextIndex]
            let other = pools[(nextIndex + 1 + random.below(count - 1)) % count]
            let best = other.load(asTunnel: asTunnel) < one.load(asTunnel: asTunnel) ? other : one
            if one.isOpenToAll, other.isOpenToAll { return .pool(best) }
        }
        return chooseByHealth(excluding: tried, asTunnel: asTunnel)
    }

    /// The instance that has the sessions of a tag; nil where none of ours does.
    ///
    /// Whether its turn may come does not matter: there is no other. Only where it gives no answers at all it is left alone.
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
            // One that drains is about to close its door; one that is coming back is not.
            case .fallback where pool.health.healthStatus.isInRotation: returning.append(pool)
            case .fallback: others.append(pool)
            case .refused(let until): soonest = min(until, soonest ?? until)
            }
        }
        while let pool = Self.least(of: &inRotation, asTunnel: asTunnel)
            ?? Self.least(of: &returning, asTunnel: asTunnel) ?? Self.least(of: &others, asTunnel: asTunnel)
        {
            // The last probe of a half-open circuit may have gone to another loop.
            if pool.health.enter(now: now) { return .pool(pool) }
        }
        return .noInstance(until: soonest ?? now, now)
    }

    /// Takes out the first of those with the fewest requests.
    private static func least(of pools: inout [UpstreamPool], asTunnel: Bool) -> UpstreamPool? {
        let best = pools.indices.min { pools[$0].load(asTunnel: asTunnel) < pools[$1].load(asTunnel: asTunnel) }
        return best.map { pools.remove(at: $0) }
    }

    /// Whether a request that came to nothing may be sent again, which it then must be.
    func mayRetry() -> Bool {
        let now = NIODeadline.now()
        report(now)
        return cluster.budget.spend(now: now)
    }

    /// Tells how many requests came since the last time to who counts them for all loops.
    private func report(_ now: NIODeadline) {
        cluster.budget.earn(unreported, now: now)
        unreported = 0
    }

    func check(_ now: NIODeadline) {
        report(now)
        for pool in pools { pool.check(now) }
    }
}

/// The instances that a request was sent to in vain; two at most, so that no list is needed.
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

/// Second tries, by what they were made for.
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
