import Foundation
import Postgres
import Wire

struct UserDeletionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// The tables with users' data, in the order in which an application's deletion clears them.
    static var tables: [String] {
        [
            // First, so that fan-out stops writing into the other tables.
            "notifications", "queue", "held", "log", "cooldowns", "failures", "devices", "settings", "subscriptions",
            "topic_subscriptions", "circuits", "device_owners", "user_languages",
        ]
    }

    func removeData(_ user: User.ID) async throws {
        for table in ["queue", "held", "log", "cooldowns", "failures"] {
            try await db.run(
                """
                DELETE FROM \(identifier: table)
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                """
            )
        }
    }

    /// Removes the text of notifications that name a user, and cancels pending ones.
    ///
    /// Scans `limit` notifications after `key`; returns the last scanned key, or nil at the end.
    func removeText(mentioning user: User.ID, after key: Int64, limit: Int, at now: Date) async throws -> Int64? {
        let name = String(decoding: try JSONValue.string(user.user).compact(), as: UTF8.self)
        return try await db.one(
            """
            WITH scanned AS (
                SELECT notification_key, application_id, mentions, data FROM notifications
                WHERE notification_key > \(key) ORDER BY notification_key LIMIT \(limit)
            ), redacted AS (
                UPDATE notifications
                SET title = NULL, android_title = NULL, body = NULL, title_message = NULL, body_message = NULL,
                    data = NULL, image_url = NULL, mentions = NULL,
                    cancelled_at = coalesce(notifications.cancelled_at, \(now))
                FROM scanned
                WHERE notifications.notification_key = scanned.notification_key
                    AND scanned.application_id = \(user.application)
                    -- Rows from an older release have no mentions; their data may contain the user id.
                    AND (strpos(scanned.mentions, \(name)) > 0 OR strpos(scanned.data, \(name)) > 0)
            )
            SELECT max(notification_key) AS last FROM scanned
            """
        ) { try $0.decode("last") }
    }
}
