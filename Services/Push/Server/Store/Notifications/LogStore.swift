import Foundation
import Postgres
import PushAPI
import Wire

/// The table `log`; pages also contain the queue's rows, as waiting.
struct LogStore<Executor: PostgresExecutor> {
    let db: Executor

    func insert(_ rows: [FanOutResult.LogRow], of batch: Batch, at now: Date) async throws {
        guard !rows.isEmpty else { return }
        try await db.run(
            """
            INSERT INTO log (
                application_id, user_id, notification_key, outcome, reason, logged_at, held_until, device_id, platform
            )
            SELECT application_id, user_id, notification_key, outcome, reason, \(now), held_until, device_id, platform
            FROM unnest(
                \(rows.map(\.user.application)), \(rows.map(\.user.user)),
                \(rows.map { batch.notifications[$0.notification].key }), \(rows.map(\.outcome.rawValue)),
                \(rows.map(\.reason)), \(rows.map(\.heldUntil)), \(rows.map { $0.device?.id }),
                \(rows.map { $0.device?.platform })
            ) WITH ORDINALITY AS rows (
                application_id, user_id, notification_key, outcome, reason, held_until, device_id, platform, ordinal
            )
            ORDER BY ordinal
            """
        )
    }

    /// Returns the user's entries before `entry`, the newest first.
    ///
    /// Titles from the message catalogues are in the user's language. An entry keeps its number on the way from the
    /// queue to the log, so it is on exactly one page.
    func page(
        of user: User.ID,
        before entry: Int64?,
        limit: Int,
        texts: PushTexts
    ) async throws -> [NotificationRecord] {
        let entry = entry ?? Int64.max
        return try await db.all(
            """
            SELECT entries.entry_id, notifications.id, notifications.kind, notifications.title, notifications.about,
                   entries.outcome, entries.reason, entries.logged_at, entries.held_until, entries.device_id,
                   entries.platform, entries.attempts, notifications.title_message, user_languages.language
            FROM (
                (
                    SELECT entry_id, notification_key, outcome, reason, logged_at, held_until, device_id, platform,
                           attempts
                    FROM log
                    WHERE application_id = \(user.application) AND user_id = \(user.user) AND entry_id < \(entry)
                    ORDER BY entry_id DESC LIMIT \(limit)
                )
                UNION ALL
                (
                    SELECT queue.entry_id, queue.notification_key, 'waiting', queue.reason, queue.created_at,
                           NULL::timestamptz, devices.device_id, devices.platform, queue.attempts
                    FROM queue LEFT JOIN devices ON devices.device_key = queue.device_key
                    WHERE queue.application_id = \(user.application) AND queue.user_id = \(user.user)
                        AND queue.entry_id < \(entry)
                    ORDER BY queue.entry_id DESC LIMIT \(limit)
                )
            ) AS entries
            JOIN notifications ON notifications.notification_key = entries.notification_key
            LEFT JOIN user_languages
                ON user_languages.application_id = \(user.application) AND user_languages.user_id = \(user.user)
            ORDER BY entries.entry_id DESC LIMIT \(limit)
            """,
            as: { try NotificationRecord(row: $0, texts) }
        )
    }

    func prune(before date: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM log USING (
                SELECT application_id, user_id, entry_id FROM log WHERE logged_at < \(date)
                ORDER BY logged_at LIMIT \(limit)
            ) AS old
            WHERE log.application_id = old.application_id AND log.user_id = old.user_id AND log.entry_id = old.entry_id
            """
        )
    }
}

extension NotificationRecord {
    fileprivate init(row: PostgresRow, _ texts: PushTexts) throws {
        var title = try row.optionalString("title")
        if title != nil, let message = try NotificationText(encoded: row.optionalString("title_message")) {
            let language = texts.language(device: nil, user: try row.optionalString("language"))
            title = texts.text(message, in: language) ?? title
        }
        let attempts = try row.optionalInt("attempts") ?? 0
        // The tables' constraints allow known values only.
        guard let kind = NotificationKind(rawValue: try row.string("kind")) else {
            throw try row.cell("kind").error("is not a known kind")
        }
        guard let outcome = Outcome(rawValue: try row.string("outcome")) else {
            throw try row.cell("outcome").error("is not a known outcome")
        }
        self.init(
            id: try row.int64("entry_id"),
            notificationId: try row.string("id"),
            kind: kind,
            title: title,
            about: try row.optionalString("about"),
            outcome: outcome,
            reason: try row.optionalString("reason"),
            at: try row.date("logged_at"),
            until: try row.optionalDate("held_until"),
            deviceId: try row.optionalString("device_id"),
            platform: try row.optionalString("platform").flatMap(DevicePlatform.init(rawValue:)),
            attempts: attempts > 0 ? attempts : nil
        )
    }
}
