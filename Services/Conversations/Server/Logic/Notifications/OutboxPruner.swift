import Foundation
import Logging
import Postgres

/// The removal of old outbox rows, which would otherwise accumulate.
struct OutboxPruner: Sendable {
    let database: PostgresPool
    /// The retention of events, in seconds.
    let retention: TimeInterval
    /// The retention of new messages while push is configured, in seconds.
    var pushRetention: TimeInterval?
    let logger: Logger
    let now: @Sendable () -> Date

    private static let batch = 10_000

    /// Removes rows older than the retention in batches, until none is left.
    func prune() async throws {
        let (store, now) = (OutboxStore(db: database), now())
        var (removed, lost) = (Self.batch, 0)
        while removed == Self.batch {
            let gone = try await store.prune(
                before: now.addingTimeInterval(-retention),
                messagesBefore: now.addingTimeInterval(-(pushRetention ?? retention)),
                limit: Self.batch
            )
            removed = gone.all
            lost += gone.messages
        }
        guard pushRetention != nil, lost > 0 else { return }
        logger.error("dropped notifications that push did not accept in time", metadata: ["rows": "\(lost)"])
    }
}
