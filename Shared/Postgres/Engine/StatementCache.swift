/// The prepared statements of one connection; a new statement replaces the least recently used one when the cache is
/// full.
struct StatementCache {
    /// A statement that is prepared or being prepared.
    final class Entry {
        let key: StatementKey
        /// The server-side name, never reused on a connection, so that a late `DEALLOCATE` cannot remove a newer
        /// statement.
        let name: String
        /// Whether the server has confirmed the preparation.
        ///
        /// Until then only the segment that prepares the statement may use it. If the preparation failed, other
        /// segments sent after it would report a missing statement instead of the cause.
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

    /// The statements to deallocate when the connection is outside a transaction.
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

    /// Removes an entry; `deallocating` also deallocates the statement on the server.
    mutating func remove(_ entry: Entry, deallocating: Bool) {
        guard entries[entry.key] === entry else { return }
        entries[entry.key] = nil
        if deallocating { discarded.append(entry.name) }
    }
}
