import Foundation
import Logging
import Postgres

/// Keeps what people are to be told from growing without end.
struct NewsSweep: Sendable {
    /// How long it is known who has liked and commented, in seconds.
    private static let memory: TimeInterval = 7 * 86_400
    private static let batch = 5_000

    let database: PostgresPool
    /// How long it waits for push, in seconds; not at all where there is none.
    let retention: Double
    let logger: Logger
    let now: @Sendable () -> Date

    func sweep() async throws {
        let store = NewsStore(db: database)
        let lost = try await store.giveUp(waitingSince: now().addingTimeInterval(-retention))
        if lost > 0, retention > 0 {
            logger.error("news given up, which push has not taken for too long", metadata: ["groups": "\(lost)"])
        }
        let moment = now().addingTimeInterval(-Self.memory)
        while try await store.delete(writtenBefore: moment, limit: Self.batch) == Self.batch {}
    }
}
