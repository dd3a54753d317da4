import DequeModule

/// The queue of writes that wait for their write shard, limited by number and by size.
struct WriteQueue {
    /// A write whose caller waits for the outcome.
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

    /// Returns false when the queue is full.
    mutating func append(_ entry: Entry) -> Bool {
        let size = entry.write.bytes
        guard entries.count < capacity, bytes + size <= maximumBytes else { return false }
        entries.append(entry)
        bytes += size
        return true
    }

    /// Appends a write that was taken from the queue before, without checking the limits.
    mutating func putBack(_ entry: Entry) {
        entries.append(entry)
        bytes += entry.write.bytes
    }

    /// Removes and returns the next batch, in the order of arrival; empty when the queue is empty.
    ///
    /// A draft that is already in the batch waits for the next batch, which will find it written. A second amendment of
    /// a message waits too.
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
