import Foundation
import Logging
import Postgres

/// What was written and is to be handed on, kept from growing without end.
struct OutboxPruner: Sendable {
    let database: PostgresPool
    /// In seconds.
    let retention: TimeInterval
    /// In seconds, of new messages, where there is push to hear of them.
    var pushRetention: TimeInterval?
    let logger: Logger
    let now: @Sendable () -> Date

    private static let batch = 10_000

    /// Removes what is older than the retention, a little at a time, until nothing old is left.
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
        logger.error("notifications given up, which push has not taken for too long", metadata: ["rows": "\(lost)"])
    }
}
