import Locks

/// Token buckets by key, which all event loops share, in a table of a fixed size.
///
/// A bucket is one number, the time at which it is full again (GCRA's theoretical arrival time), so a full bucket need
/// not be kept at all. The table has sets of eight; a key's set is a hash of it that nobody outside can foresee. Where a
/// set has no room, the bucket goes that is the nearest to full: who floods the table with keys empties no bucket of
/// another's, and never gets rid of one of his own that is emptier. Within a process the count is exact: each set has its
/// lock. Several gateways each count for themselves.
final class TokenBuckets: Sendable {
    private struct Slot {
        var key: UInt64 = 0
        var fullAt: UInt64 = 0
    }

    private final class Shard: Sendable {
        let slots: Lock<[Slot]>

        init(count: Int) {
            slots = Lock(Array(repeating: Slot(), count: count))
        }
    }

    /// What became of a request.
    struct Decision: Equatable {
        let isAdmitted: Bool
        /// How many more may come at this moment.
        let remaining: UInt64
        /// Nanoseconds until the bucket is full again.
        let untilFull: UInt64
        /// Nanoseconds until a request that was refused would be let in.
        let untilNext: UInt64
    }

    private static let ways = 8
    private static let shardCount = 64

    private let shards: [Shard]
    private let setsPerShard: UInt64

    /// A table of at least `capacity` buckets.
    init(capacity: Int) {
        let sets = max(1, capacity / (Self.ways * Self.shardCount))
        setsPerShard = UInt64(sets)
        shards = (0..<Self.shardCount).map { _ in Shard(count: sets * Self.ways) }
    }

    /// Takes one token of the bucket of `key`, a hash that is spread evenly, or one of the `share` parts of a token.
    func take(_ key: UInt64, share: UInt64 = 1, at rate: Rate, now: UInt64) -> Decision {
        // Zero marks a slot that nobody has.
        let key = max(1, key)
        let set = Int((key >> 8) % setsPerShard) * Self.ways
        return shards[Int(key % UInt64(Self.shardCount))].slots.withLock { slots in
            var slot = set
            for candidate in set..<set + Self.ways {
                if slots[candidate].key == key {
                    slot = candidate
                    break
                }
                if slots[candidate].fullAt < slots[slot].fullAt { slot = candidate }
            }
            let before = slots[slot].key == key ? max(slots[slot].fullAt, now) : now
            let after = before + max(1, rate.interval / share)
            guard after - now <= rate.window else {
                return Decision(
                    isAdmitted: false,
                    remaining: 0,
                    untilFull: before - now,
                    untilNext: after - now - rate.window
                )
            }
            slots[slot] = Slot(key: key, fullAt: after)
            return Decision(
                isAdmitted: true,
                remaining: (rate.window - (after - now)) / rate.interval,
                untilFull: after - now,
                untilNext: 0
            )
        }
    }
}
