import Foundation
import Postgres

/// Forgets devices that nobody is behind any more, and sessions that nothing is heard of any more.
struct DevicePruning: Sendable {
    /// How long an ended session is known: longer than anybody goes on telling of a device registered in it.
    private static let sessionRetention: TimeInterval = 60 * 86_400
    private static let batch = 1_000

    let database: PostgresPool
    /// How many days a device is known that is not heard of.
    let days: Int
    let now: @Sendable () -> Date

    /// Does it once; on any instance, and on several at once.
    func prune() async throws {
        let limit = now().addingTimeInterval(-TimeInterval(days) * 86_400)
        let devices = DeviceStore(db: database)
        while try await devices.delete(unseenSince: limit, limit: Self.batch) == Self.batch {}
        let sessions = EndedSessionStore(db: database)
        try await sessions.delete(endedBefore: now().addingTimeInterval(-Self.sessionRetention))
    }
}
