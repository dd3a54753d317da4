import Locks
import Postgres

/// Runs ANALYZE on tables that are small and growing fast.
///
/// Connections keep the plans they have made. A plan for an almost empty table may use an index that is no better than
/// another there. For a conversation of a thousand messages that index is a thousand times slower. ANALYZE makes all
/// connections plan again. Autovacuum does so a minute later, which is early enough for a large table.
final class AutoAnalyze: Sendable {
    /// The table sizes between which ANALYZE runs, in bytes.
    private static let smallest = 65_536
    private static let grown = 1 << 30

    private static let tables = ["conversations", "heads", "members", "messages", "search_entries"]

    private let database: PostgresPool
    /// Each table's size at its last ANALYZE.
    private let analyzedSizes = Lock<[String: Int]>([:])

    init(database: PostgresPool) {
        self.database = database
    }

    /// Analyzes the tables that have doubled in size since their last ANALYZE.
    ///
    /// Other tables are left out: ANALYZE of an empty table would cause plans for an empty table.
    func run() async throws {
        let analyzedSizes = analyzedSizes.withLock { $0 }
        guard Self.tables.contains(where: { analyzedSizes[$0, default: 0] < Self.grown }) else { return }
        let sizes = try await database.all(
            "SELECT name, pg_relation_size(name::regclass) AS bytes FROM unnest(\(Self.tables)) AS name",
            as: { (table: try $0.string("name"), bytes: try $0.int("bytes")) }
        )
        for (table, bytes) in sizes {
            let last = analyzedSizes[table, default: 0]
            guard last < Self.grown, bytes >= max(Self.smallest, 2 * last) else { continue }
            _ = try await database.execute("ANALYZE \(identifier: table)")
            self.analyzedSizes.withLock { $0[table] = bytes }
        }
    }
}
