import Locks

/// Token buckets by key in a table of fixed size, shared by all event loops.
///
/// A bucket is one number, the time at which it is full again (GCRA's theoretical arrival time), so a full bucket needs
/// no slot.
///
/// The table has sets of eight slots, and a hash of the key that clients cannot predict selects the set. When a set has
/// no free slot, the bucket nearest to full is replaced. An attacker who floods the table with keys therefore empties
/// no bucket of another client, and cannot get rid of an emptier bucket of their own.
///
/// Counts within a process are exact, because a lock protects each set. Each gateway process counts separately.
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

    struct Decision: Equatable {
        let isAdmitted: Bool
        /// The number of further requests that are allowed at this moment.
        let remaining: UInt64
        /// Nanoseconds until the bucket is full again.
        let untilFull: UInt64
        /// Nanoseconds until a rejected request would be admitted.
        let untilNext: UInt64
    }

    private static let ways = 8
    private static let shardCount = 64

    private let shards: [Shard]
    private let setsPerShard: UInt64

    init(capacity: Int) {
        let sets = max(1, capacity / (Self.ways * Self.shardCount))
        setsPerShard = UInt64(sets)
        shards = (0..<Self.shardCount).map { _ in Shard(count: sets * Self.ways) }
    }

    /// Takes one token, or one of `share` parts of a token, from the bucket of `key`, an evenly distributed hash.
    func take(_ key: UInt64, share: UInt64 = 1, at rate: Rate, now: UInt64) -> Decision {
        // Zero marks an empty slot.
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
