import Foundation
import Postgres
import PushAPI
import ServiceHost

/// Deletes devices that were not seen for long, and old ended sessions.
struct DevicePruning: Sendable {
    /// Longer than any service retries an event about a device that was registered in the session.
    private static let sessionRetention: TimeInterval = 60 * 86_400
    private static let batch = 1_000

    let database: PostgresPool
    var events = EventOutbox.none
    let days: Int
    let now: @Sendable () -> Date

    func prune() async throws {
        let limit = now().addingTimeInterval(-TimeInterval(days) * 86_400)
        while try await prune(unseenSince: limit) == Self.batch {}
        let sessions = EndedSessionStore(db: database)
        try await sessions.delete(endedBefore: now().addingTimeInterval(-Self.sessionRetention))
    }

    private func prune(unseenSince limit: Date) async throws -> Int {
        try await database.transaction { db in
            let removed = try await DeviceStore(db: db).delete(unseenSince: limit, limit: Self.batch)
            try await events.write(removed, in: db)
            return removed.count
        }
    }
}
