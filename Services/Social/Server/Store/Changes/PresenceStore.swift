import Foundation
import Postgres
import Wire

/// The table `user_presence`: the users who can receive changes immediately.
struct PresenceStore<Executor: PostgresExecutor> {
    let db: Executor

    func addDevice(of user: User.ID) async throws {
        try await db.run(
            """
            INSERT INTO user_presence (application_id, user_id, has_device)
            VALUES (\(user.application), \(user.user), true)
            ON CONFLICT ON CONSTRAINT user_presence_pkey DO UPDATE SET has_device = true
            """
        )
    }

    func removeDevices(of user: User.ID) async throws {
        try await db.run(
            """
            UPDATE user_presence SET has_device = false
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """
        )
    }

    func hasDevice(_ user: User.ID) async throws -> Bool {
        try await db.first(
            """
            SELECT has_device FROM user_presence
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """,
            as: { try $0.bool("has_device") }
        ) ?? false
    }

    /// Records that users have an open stream until `end`, unless a later time is recorded already.
    func confirmStreams(of users: [User.ID], until end: Date) async throws {
        try await db.run(
            """
            INSERT INTO user_presence AS existing (application_id, user_id, stream_until)
            SELECT application_id, user_id, \(end)::timestamptz
            FROM unnest(\(users.map(\.application)), \(users.map(\.user))) AS streaming (application_id, user_id)
            ORDER BY application_id, user_id
            ON CONFLICT ON CONSTRAINT user_presence_pkey DO UPDATE
            SET stream_until = GREATEST(existing.stream_until, excluded.stream_until)
            """
        )
    }

    func delete(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM user_presence WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }

    /// Deletes users without a device whose last stream ended before a time.
    func delete(streamEndedBefore date: Date) async throws {
        try await db.run(
            """
            DELETE FROM user_presence
            WHERE NOT has_device AND (stream_until IS NULL OR stream_until < \(date))
            """
        )
    }
}
