import Testing

@testable import GatewayServer

@Suite("Token buckets") struct TokenBucketTests {
    private static let second: UInt64 = 1_000_000_000
    private let now: UInt64 = 1_000 * second

    @Test("A bucket allows its burst, and then its rate")
    func burstThenRate() {
        let buckets = TokenBuckets(capacity: 1_024)
        let rate = Rate(100, in: 1, burst: 1_000)
        #expect((0..<2_000).count { _ in buckets.take(7, at: rate, now: now).isAdmitted } == 1_000)
        // Two seconds in steps of a millisecond add two hundred.
        let later = (1...2_000).count { step in
            buckets.take(7, at: rate, now: now + UInt64(step) * Self.second / 1_000).isAdmitted
        }
        #expect(later == 200)
        #expect((0..<2_000).count { _ in buckets.take(7, at: rate, now: now + 60 * Self.second).isAdmitted } == 1_000)
    }

    @Test("A bucket reports what remains and when to retry")
    func remainingAndRetryTime() {
        let buckets = TokenBuckets(capacity: 1_024)
        let rate = Rate(2, in: 1, burst: 3)
        let half = Self.second / 2
        let first = buckets.take(7, at: rate, now: now)
        #expect(first == .init(isAdmitted: true, remaining: 2, untilFull: half, untilNext: 0))
        _ = buckets.take(7, at: rate, now: now)
        #expect(buckets.take(7, at: rate, now: now).remaining == 0)
        let refused = buckets.take(7, at: rate, now: now)
        #expect(refused == .init(isAdmitted: false, remaining: 0, untilFull: 3 * half, untilNext: half))
        // A refusal costs nothing.
        #expect(buckets.take(7, at: rate, now: now + half).isAdmitted)
    }

    @Test("Keys have separate buckets")
    func separateKeys() {
        let buckets = TokenBuckets(capacity: 65_536)
        let rate = Rate(1, in: 1, burst: 1)
        var hashes = Set<UInt64>()
        while hashes.count < 4_096 { hashes.insert(.random(in: .min ... .max)) }
        // A set is rarely more than a quarter full, so hardly any bucket is evicted.
        let admitted = hashes.count { buckets.take($0, at: rate, now: now).isAdmitted }
        #expect(admitted == 4_096)
        #expect(hashes.count { buckets.take($0, at: rate, now: now).isAdmitted } < 10)
    }

    @Test("A flood of other keys does not refill an empty bucket")
    func floodingEvictsNoEmptyBucket() {
        let buckets = TokenBuckets(capacity: 512)
        let rate = Rate(1, in: 1, burst: 10)
        let flooder: UInt64 = 0xF100_DE12
        while buckets.take(flooder, at: rate, now: now).isAdmitted {}
        // A hundred times the capacity of the table, each key a few times.
        for _ in 0..<50_000 {
            let key = UInt64.random(in: .min ... .max)
            for _ in 0..<3 { _ = buckets.take(key, at: rate, now: now) }
        }
        #expect(!buckets.take(flooder, at: rate, now: now).isAdmitted)
    }

    @Test("Concurrent use admits exactly the burst")
    func concurrentUse() async {
        let buckets = TokenBuckets(capacity: 1_024)
        let rate = Rate(1, in: 1, burst: 10_000)
        let start = now
        let admitted = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<5_000).count { _ in buckets.take(7, at: rate, now: start).isAdmitted }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(admitted == 10_000)
    }

    @Test("Addresses of one IPv6 /64 have one key, and IPv4 addresses their own")
    func ipv6Prefix() {
        let one = ClientKey.address("2001:db8:1:2::1")
        #expect(one == ClientKey.address("2001:DB8:1:2:ffff:1:2:3"))
        #expect(one != ClientKey.address("2001:db8:1:3::1"))
        #expect(ClientKey.address("192.0.2.1") == ClientKey.address("::ffff:192.0.2.1"))
        #expect(ClientKey.address("192.0.2.1") != ClientKey.address("192.0.2.2"))
        #expect(ClientKey.address("unknown") != ClientKey.address("::"))
    }
}
