import Foundation
import Postgres
import PushAPI
import Wire

/// The table `queue`: notifications to send, one row for each device.
struct QueueStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Adds notifications; each replaces pending ones of its device with the same collapse key.
    func insert(_ rows: [FanOutResult.QueueRow], of batch: Batch, at now: Date) async throws {
        guard !rows.isEmpty else { return }
        try await replace(rows.filter { batch.notifications[$0.notification].collapseKey != nil }, of: batch, at: now)
        let notifications = rows.map { batch.notifications[$0.notification] }
        try await db.run(
            """
            INSERT INTO queue (
                application_id, user_id, device_key, notification_key, service, priority, collapse_key, sound, badge,
                cooldown_broadcaster, created_at, due_at, expires_at
            )
            SELECT application_id, user_id, device_key, notification_key, service, priority, collapse_key, sound, badge,
                   cooldown_broadcaster, \(now), \(now), expires_at
            FROM unnest(
                \(rows.map(\.user.application)), \(rows.map(\.user.user)), \(rows.map(\.device.key)),
                \(notifications.map(\.key)), \(rows.map(\.device.service)), \(notifications.map(\.priority)),
                \(notifications.map(\.collapseKey)), \(rows.map(\.sound)), \(rows.map(\.number)),
                \(rows.map(\.cooldownBroadcaster)), \(notifications.map(\.expires))
            ) WITH ORDINALITY AS rows (
                application_id, user_id, device_key, notification_key, service, priority, collapse_key, sound, badge,
                cooldown_broadcaster, expires_at, ordinal
            )
            ORDER BY ordinal
            """
        )
    }

    /// Moves replaced rows to the log, except rows that are being sent.
    private func replace(_ rows: [FanOutResult.QueueRow], of batch: Batch, at now: Date) async throws {
        guard !rows.isEmpty else { return }
        let keys = rows.map { batch.notifications[$0.notification].collapseKey ?? "" }
        try await db.run(
            """
            WITH replaced AS (
                DELETE FROM queue
                USING (
                    SELECT DISTINCT device_key, collapse_key
                    FROM unnest(\(rows.map(\.device.key)), \(keys)) AS rows (device_key, collapse_key)
                ) AS newer
                WHERE queue.device_key = newer.device_key AND queue.collapse_key = newer.collapse_key
                    AND (queue.leased_until IS NULL OR queue.leased_until <= \(now))
                RETURNING queue.application_id, queue.user_id, queue.entry_id, queue.notification_key, queue.device_key,
                          queue.attempts
            ),
            counted AS (
                UPDATE notifications SET failed = notifications.failed + counts.count
                FROM (SELECT notification_key, count(*) AS count FROM replaced GROUP BY notification_key) AS counts
                WHERE notifications.notification_key = counts.notification_key
            )
            INSERT INTO log (
                application_id, user_id, entry_id, notification_key, outcome, logged_at, device_id, platform, attempts
            )
            SELECT replaced.application_id, replaced.user_id, replaced.entry_id, replaced.notification_key, 'replaced',
                   \(now), devices.device_id, devices.platform, replaced.attempts
            FROM replaced LEFT JOIN devices ON devices.device_key = replaced.device_key
            """
        )
    }

    func expire(at now: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            WITH old AS (
                SELECT application_id, user_id, entry_id FROM queue
                WHERE expires_at <= \(now) AND (leased_until IS NULL OR leased_until <= \(now))
                ORDER BY expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            ),
            expired AS (
                DELETE FROM queue USING old
                WHERE queue.application_id = old.application_id AND queue.user_id = old.user_id
                    AND queue.entry_id = old.entry_id
                RETURNING queue.application_id, queue.user_id, queue.entry_id, queue.notification_key, queue.device_key,
                          queue.attempts, queue.reason
            ),
            counted AS (
                UPDATE notifications SET failed = notifications.failed + counts.count
                FROM (SELECT notification_key, count(*) AS count FROM expired GROUP BY notification_key) AS counts
                WHERE notifications.notification_key = counts.notification_key
            )
            INSERT INTO log (
                application_id, user_id, entry_id, notification_key, outcome, reason, logged_at, device_id, platform,
                attempts
            )
            SELECT expired.application_id, expired.user_id, expired.entry_id, expired.notification_key, 'expired',
                   expired.reason, \(now), devices.device_id, devices.platform, expired.attempts
            FROM expired LEFT JOIN devices ON devices.device_key = expired.device_key
            """
        )
    }

    func renewLeases(_ entries: [ProviderQueue.Entry], until lease: Date) async throws {
        guard !entries.isEmpty else { return }
        try await db.run(
            """
            UPDATE queue SET leased_until = \(lease)
            FROM unnest(\(entries.map(\.user.application)), \(entries.map(\.user.user)), \(entries.map(\.id)))
                AS leased (application_id, user_id, entry_id)
            WHERE queue.application_id = leased.application_id AND queue.user_id = leased.user_id
                AND queue.entry_id = leased.entry_id
            """
        )
    }
}
