import Locks
import Postgres

/// Has PostgreSQL look at the tables again while they are young and growing fast.
///
/// Connections keep the plans they have made, and a plan made for an almost empty table may pick an index that is no
/// better than another there, and is a thousand times worse for a conversation of a thousand messages. ANALYZE makes
/// every connection plan anew. Autovacuum does it too, but only a minute later; from some size on that is soon enough.
final class AutoAnalyze: Sendable {
    /// In bytes.
    private static let smallest = 65_536
    private static let grown = 1 << 30

    private static let tables = ["conversations", "heads", "members", "messages", "search_entries"]

    private let database: PostgresPool
    /// Each table's size at the last look.
    private let known = Lock<[String: Int]>([:])

    init(database: PostgresPool) {
        self.database = database
    }

    /// Looks at the tables that have doubled since the last look.
    ///
    /// At those alone: to look at one that is still empty would have it planned for as empty.
    func run() async throws {
        let known = known.withLock { $0 }
        guard Self.tables.contains(where: { known[$0, default: 0] < Self.grown }) else { return }
        let sizes = try await database.all(
            "SELECT name, pg_relation_size(name::regclass) AS bytes FROM unnest(\(Self.tables)) AS name",
            as: { (table: try $0.string("name"), bytes: try $0.int("bytes")) }
        )
        for (table, bytes) in sizes {
            let last = known[table, default: 0]
            guard last < Self.grown, bytes >= max(Self.smallest, 2 * last) else { continue }
            _ = try await database.execute("ANALYZE \(identifier: table)")
            self.known.withLock { $0[table] = bytes }
        }
    }
}
