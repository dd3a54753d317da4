import DequeModule

/// Writes that wait for their lane, bounded by number and by size.
struct WriteQueue {
    /// A write whose caller waits.
    struct Entry: Sendable {
        let write: ConversationWrite
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<WriteOutcome, any Error>
    }

    static let maximumBatch = 64
    static let maximumBatchBytes = 262_144

    let capacity: Int
    let maximumBytes: Int
    private var entries = Deque<Entry>()
    private var bytes = 0

    init(capacity: Int, maximumBytes: Int) {
        self.capacity = capacity
        self.maximumBytes = maximumBytes
    }

    var count: Int { entries.count }

    /// False: there is no room.
    mutating func append(_ entry: Entry) -> Bool {
        let size = entry.write.bytes
        guard entries.count < capacity, bytes + size <= maximumBytes else { return false }
        entries.append(entry)
        bytes += size
        return true
    }

    /// At the end; it had its room before.
    mutating func putBack(_ entry: Entry) {
        entries.append(entry)
        bytes += entry.write.bytes
    }

    /// What goes together next, in the order it came; empty when nothing waits.
    ///
    /// A draft that is in the batch already stays for the next, which will find it written; so does what is to become
    /// of a message of which something is to become already.
    mutating func nextBatch() -> [Entry] {
        var batch: [Entry] = []
        var size = 0
        var keys: Set<ConversationWrite.Key> = []
        var later: [Entry] = []
        while batch.count < Self.maximumBatch, let entry = entries.first {
            let entrySize = entry.write.bytes
            guard batch.isEmpty || size + entrySize <= Self.maximumBatchBytes else { break }
            entries.removeFirst()
            if let key = entry.write.key, !keys.insert(key).inserted {
                later.append(entry)
                continue
            }
            batch.append(entry)
            size += entrySize
        }
        entries.insert(contentsOf: later, at: entries.startIndex)
        bytes -= size
        return batch
    }
}
