import Postgres
import Synchronization

/// Has PostgreSQL look at the tables again while they are young and growing fast.
///
/// Connections keep the plans they have made, and a plan made for an almost empty table may pick an index that is no
/// better than another there, and is a thousand times worse for a conversation of a thousand messages. ANALYZE makes
/// every connection plan anew. Autovacuum does it too, but only a minute later; from some size on that is soon enough.
final class TableStatistics: Sendable {
    /// In bytes.
    private static let smallest = 65_536
    private static let grown = 1 << 30

    private let database: PostgresPool
    /// The size at the last look.
    private let known = Mutex(0)

    init(database: PostgresPool) {
        self.database = database
    }

    /// Looks at the tables if they have doubled since the last look.
    func keep() async throws {
        let known = known.withLock { $0 }
        guard known < Self.grown else { return }
        let size = try await database.one(
            "SELECT pg_relation_size('messages') + pg_relation_size('members') AS bytes",
            as: { try $0.int("bytes") }
        )
        guard size >= max(Self.smallest, 2 * known) else { return }
        for table in ["conversations", "heads", "members", "messages"] {
            _ = try await database.execute("ANALYZE \(identifier: table)")
        }
        self.known.withLock { $0 = size }
    }
}
