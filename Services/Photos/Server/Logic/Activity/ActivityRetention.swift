import Foundation
import Logging
import Postgres

/// Keeps what people are to be told from growing without end.
struct ActivityRetention: Sendable {
    /// How long it is known who has liked and commented, in seconds.
    private static let retentionOfActors: TimeInterval = 7 * 86_400
    private static let batch = 5_000

    let database: PostgresPool
    /// How long it waits for push, in seconds; not at all where there is none.
    let retention: Double
    let logger: Logger
    let now: @Sendable () -> Date

    func deleteExpired() async throws {
        let store = ActivityStore(db: database)
        let dropped = try await store.dropUndelivered(waitingSince: now().addingTimeInterval(-retention))
        if dropped > 0, retention > 0 {
            logger.error("news given up, which push has not taken for too long", metadata: ["groups": "\(dropped)"])
        }
        let moment = now().addingTimeInterval(-Self.retentionOfActors)
        while try await store.delete(writtenBefore: moment, limit: Self.batch) == Self.batch {}
    }
}
