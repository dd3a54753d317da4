import Foundation
import Postgres

/// Deletes devices that were not seen for long, and old ended sessions.
struct DevicePruning: Sendable {
    /// Longer than any service retries an event about a device that was registered in the session.
    private static let sessionRetention: TimeInterval = 60 * 86_400
    private static let batch = 1_000

    let database: PostgresPool
    let days: Int
    let now: @Sendable () -> Date

    func prune() async throws {
        let limit = now().addingTimeInterval(-TimeInterval(days) * 86_400)
        let devices = DeviceStore(db: database)
        while try await devices.delete(unseenSince: limit, limit: Self.batch) == Self.batch {}
        let sessions = EndedSessionStore(db: database)
        try await sessions.delete(endedBefore: now().addingTimeInterval(-Self.sessionRetention))
    }
}
