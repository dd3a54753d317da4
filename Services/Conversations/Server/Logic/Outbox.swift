import Foundation
import Postgres

/// What was written and is to be handed on, kept from growing without end.
struct Outbox: Sendable {
    let database: PostgresPool
    /// In seconds.
    let retention: TimeInterval
    let now: @Sendable () -> Date

    private static let batch = 10_000

    /// Removes what is older than the retention, a little at a time, until nothing old is left.
    func prune() async throws {
        let store = OutboxStore(db: database)
        var removed = Self.batch
        while removed == Self.batch {
            removed = try await store.prune(before: now().addingTimeInterval(-retention), limit: Self.batch)
        }
    }
}
