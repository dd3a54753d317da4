import Foundation
import Logging
import Postgres

struct ActivityRetention: Sendable {
    /// How long likes and comments are remembered, in seconds.
    private static let retentionOfActors: TimeInterval = 7 * 86_400
    private static let batch = 5_000

    let database: PostgresPool
    /// How long undelivered activity waits for push, in seconds; 0 without push.
    let retention: Double
    let logger: Logger
    let now: @Sendable () -> Date

    func deleteExpired() async throws {
        let store = ActivityStore(db: database)
        let dropped = try await store.dropUndelivered(waitingSince: now().addingTimeInterval(-retention))
        if dropped > 0, retention > 0 {
            logger.error("undelivered activity dropped", metadata: ["groups": "\(dropped)"])
        }
        let moment = now().addingTimeInterval(-Self.retentionOfActors)
        while try await store.delete(writtenBefore: moment, limit: Self.batch) == Self.batch {}
    }
}
