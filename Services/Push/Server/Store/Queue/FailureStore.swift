import Foundation
import Postgres
import PushAPI

/// The table `failures`: notifications that a provider rejected, for the operator.
struct FailureStore<Executor: PostgresExecutor> {
    let db: Executor

    func page(before id: Int64?, limit: Int) async throws -> [PushFailure] {
        try await db.all(
            """
            SELECT failures.failure_id, failures.application_id, failures.user_id, failures.service, failures.reason,
                   failures.attempts, failures.failed_at, notifications.id, notifications.kind
            FROM failures JOIN notifications ON notifications.notification_key = failures.notification_key
            WHERE failures.failure_id < \(id ?? Int64.max)
            ORDER BY failures.failure_id DESC LIMIT \(limit)
            """,
            as: PushFailure.init(row:)
        )
    }

    /// Queues at most `limit` failures again; returns their number.
    ///
    /// An expired notification gets another hour.
    func retry(_ selection: PushFailureSelection, at now: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            WITH chosen AS (
                DELETE FROM failures WHERE failure_id IN (
                    SELECT failure_id FROM failures WHERE \(selection) ORDER BY failure_id LIMIT \(limit)
                    FOR UPDATE SKIP LOCKED
                )
                RETURNING application_id, user_id, device_key, notification_key, message_id, service, sound, badge
            ),
            counted AS (
                UPDATE notifications SET failed = notifications.failed - counts.count
                FROM (SELECT notification_key, count(*) AS count FROM chosen GROUP BY notification_key) AS counts
                WHERE notifications.notification_key = counts.notification_key
            )
            INSERT INTO queue (
                application_id, user_id, device_key, notification_key, message_id, service, priority, collapse_key,
                sound, badge, created_at, due_at, expires_at
            )
            SELECT chosen.application_id, chosen.user_id, chosen.device_key, chosen.notification_key, chosen.message_id,
                   chosen.service, notifications.priority, notifications.collapse_key, chosen.sound, chosen.badge,
                   \(now), \(now), greatest(notifications.expires_at, \(now.addingTimeInterval(3_600)))
            FROM chosen JOIN notifications ON notifications.notification_key = chosen.notification_key
            """
        )
    }

    func drop(_ selection: PushFailureSelection, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM failures WHERE failure_id IN (
                SELECT failure_id FROM failures WHERE \(selection) ORDER BY failure_id LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            """
        )
    }

    func count() async throws -> Int {
        try await db.one("SELECT count(*) AS n FROM failures", as: { try $0.int("n") })
    }

    func prune(before date: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM failures WHERE failure_id IN (
                SELECT failure_id FROM failures WHERE failed_at < \(date) ORDER BY failed_at LIMIT \(limit)
            )
            """
        )
    }
}

extension PostgresQuery.StringInterpolation {
    /// Fields that a selection omits are no condition.
    fileprivate mutating func appendInterpolation(_ selection: PushFailureSelection) {
        appendLiteral("(")
        appendInterpolation(selection.ids)
        appendLiteral("::int8[] IS NULL OR failure_id = ANY (")
        appendInterpolation(selection.ids)
        appendLiteral(")) AND (")
        appendInterpolation(selection.applicationId)
        appendLiteral("::text IS NULL OR application_id = ")
        appendInterpolation(selection.applicationId)
        appendLiteral(") AND (")
        appendInterpolation(selection.reason)
        appendLiteral("::text IS NULL OR reason = ")
        appendInterpolation(selection.reason)
        appendLiteral(")")
    }
}

extension PushFailure {
    fileprivate init(row: PostgresRow) throws {
        guard let kind = NotificationKind(rawValue: try row.string("kind")) else {
            throw try row.cell("kind").error("is not a known kind")
        }
        self.init(
            id: try row.int64("failure_id"),
            applicationId: try row.string("application_id"),
            userId: try row.string("user_id"),
            service: try row.string("service"),
            notificationId: try row.string("id"),
            kind: kind,
            reason: try row.optionalString("reason"),
            attempts: try row.int("attempts"),
            failedAt: try row.date("failed_at")
        )
    }
}
