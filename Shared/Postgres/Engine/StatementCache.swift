/// The statements prepared on one connection, the least recently used of which makes room for the next.
struct StatementCache {
    /// A statement on its way to being prepared, or prepared.
    final class Entry {
        let key: StatementKey
        /// Never used twice on a connection, so a late `DEALLOCATE` cannot meet a newer statement.
        let name: String
        /// Whether the server has said that it is prepared.
        ///
        /// Until then only the segment that prepares it may use it: were the preparation to fail, others sent behind it
        /// would be told that there is no such statement instead of what is wrong with it.
        var isConfirmed = false
        fileprivate var lastUse: UInt64

        init(key: StatementKey, name: String, lastUse: UInt64) {
            self.key = key
            self.name = name
            self.lastUse = lastUse
        }
    }

    private let capacity: Int
    private var entries: [StatementKey: Entry] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0

    /// Names to deallocate once the connection is not inside a transaction.
    var discarded: [String] = []

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var count: Int { entries.count }

    mutating func find(_ key: StatementKey) -> Entry? {
        guard let entry = entries[key] else { return nil }
        uses += 1
        entry.lastUse = uses
        return entry
    }

    mutating func insert(_ key: StatementKey) -> Entry {
        if entries.count >= capacity,
            let oldest = entries.values.lazy.filter(\.isConfirmed).min(by: { $0.lastUse < $1.lastUse })
        {
            entries[oldest.key] = nil
            discarded.append(oldest.name)
        }
        uses += 1
        names += 1
        let entry = Entry(key: key, name: "s\(names)", lastUse: uses)
        entries[key] = entry
        return entry
    }

    /// Forgets an entry; one that the server has must be deallocated as well.
    mutating func remove(_ entry: Entry, deallocating: Bool) {
        guard entries[entry.key] === entry else { return }
        entries[entry.key] = nil
        if deallocating { discarded.append(entry.name) }
    }
}
