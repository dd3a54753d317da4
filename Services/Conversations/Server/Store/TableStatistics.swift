import Logging
import Postgres
import ServiceLifecycle

/// Has PostgreSQL look at the tables again while they are young and growing fast.
///
/// Connections keep the plans they have made, and a plan made for an almost empty table may pick an index that is no
/// better than another there, and is a thousand times worse for a conversation of a thousand messages. ANALYZE makes
/// every connection plan anew. Autovacuum does it too, but only a minute later; from some size on that is soon enough.
struct TableStatistics: Service {
    let database: PostgresPool
    let logger: Logger
    var interval = Duration.milliseconds(500)

    /// In bytes.
    private static let smallest = 65_536
    private static let grown = 1 << 30

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var known = 0
            while !Task.isCancelled {
                do {
                    if known < Self.grown { known = try await keep(known) }
                    try await ContinuousClock().sleep(for: interval)
                } catch is CancellationError {
                    return
                } catch {
                    logger.debug("the tables were not looked at", metadata: ["error": "\(error)"])
                    // Ended by cancellation alone, which the loop sees.
                    try? await ContinuousClock().sleep(for: interval)
                }
            }
        }
    }

    /// Looks at the tables if they have doubled since they were `known` bytes; returns the size they were last seen at.
    func keep(_ known: Int) async throws -> Int {
        let size = try await database.one(
            "SELECT pg_relation_size('messages') + pg_relation_size('members') AS bytes",
            as: { try $0.int("bytes") }
        )
        guard size >= max(Self.smallest, 2 * known) else { return known }
        for table in ["conversations", "heads", "members", "messages"] {
            _ = try await database.execute("ANALYZE \(identifier: table)")
        }
        return size
    }
}
