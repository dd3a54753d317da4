import Foundation
import Postgres
import PushAPI
import Wire

struct SendResult: Sendable {
    let claimed: ClaimedEntry
    let decision: SendDecision
}

private struct Favourite: Hashable {
    let user: User.ID
    let broadcaster: String
}

/// Stores the results of claimed notifications, one statement for each kind of result.
struct ResultStore<Executor: PostgresExecutor> {
    let db: Executor

    struct Finished: Sendable {
        let claimed: ClaimedEntry
        let outcome: NotificationRecord.Outcome
        let reason: String?
        let receipt: String?
        let isFailure: Bool
    }

    struct Requeued: Sendable {
        let claimed: ClaimedEntry
        let due: Date
        let reason: String?
        let countsAttempt: Bool
        let otherEnvironment: Bool
    }

    /// Moves rows from the queue to the log; returns the numbers of sent and failed rows by notification.
    ///
    /// Rows of a user who was deleted meanwhile are skipped.
    func finish(_ rows: [Finished], at now: Date) async throws -> (sent: [Int64: Int], failed: [Int64: Int]) {
        guard !rows.isEmpty else { return ([:], [:]) }
        let entries = rows.map(\.claimed.entry)
        let counts = try await db.execute(
            """
            WITH finished AS (
                DELETE FROM queue
                USING unnest(
                    \(entries.map(\.user.application)), \(entries.map(\.user.user)), \(entries.map(\.id)),
                    \(rows.map(\.outcome.rawValue)), \(rows.map(\.reason)), \(rows.map(\.receipt)),
                    \(rows.map { $0.claimed.device?.id }), \(rows.map { $0.claimed.device?.platform.rawValue }),
                    \(rows.map(\.isFailure))
                ) AS results (
                    application_id, user_id, entry_id, outcome, reason, receipt, device_id, platform, is_failure
                )
                WHERE queue.application_id = results.application_id AND queue.user_id = results.user_id
                    AND queue.entry_id = results.entry_id
                RETURNING queue.application_id, queue.user_id, queue.entry_id, queue.device_key, queue.notification_key,
                          queue.message_id, queue.service, queue.sound, queue.badge, queue.attempts, results.outcome,
                          results.reason, results.receipt, results.device_id, results.platform, results.is_failure
            ),
            failed AS (
                INSERT INTO failures (
                    failure_id, application_id, user_id, device_key, notification_key, message_id, service, sound,
                    badge, reason, attempts, failed_at
                )
                SELECT entry_id, application_id, user_id, device_key, notification_key, message_id, service, sound,
                       badge, reason, attempts, \(now)
                FROM finished WHERE is_failure
            ),
            logged AS (
                INSERT INTO log (
                    application_id, user_id, entry_id, notification_key, outcome, reason, logged_at, device_id,
                    platform, attempts, receipt
                )
                SELECT application_id, user_id, entry_id, notification_key, outcome, reason, \(now), device_id,
                       platform, attempts, receipt
                FROM finished
            )
            SELECT notification_key, count(*) FILTER (WHERE outcome = 'sent') AS sent,
                   count(*) FILTER (WHERE outcome <> 'sent') AS failed
            FROM finished GROUP BY notification_key
            """
        )
        var (sent, failed): ([Int64: Int], [Int64: Int]) = ([:], [:])
        for row in counts {
            let key: Int64 = try row.decode(at: 0)
            sent[key] = try row.decode(at: 1)
            failed[key] = try row.decode(at: 2)
        }
        return (sent, failed)
    }

    func requeue(entries rows: [Requeued]) async throws {
        guard !rows.isEmpty else { return }
        let entries = rows.map(\.claimed.entry)
        try await db.run(
            """
            UPDATE queue
            SET due_at = later.due_at, leased_until = NULL, reason = later.reason,
                attempts = queue.attempts - later.uncounted, other_environment = later.other_environment
            FROM unnest(
                \(entries.map(\.user.application)), \(entries.map(\.user.user)), \(entries.map(\.id)),
                \(rows.map(\.due)), \(rows.map(\.reason)), \(rows.map { $0.countsAttempt ? 0 : 1 }),
                \(rows.map(\.otherEnvironment))
            ) AS later (application_id, user_id, entry_id, due_at, reason, uncounted, other_environment)
            WHERE queue.application_id = later.application_id AND queue.user_id = later.user_id
                AND queue.entry_id = later.entry_id
            """
        )
    }

    /// Records that a provider accepted notifications about broadcasters, for the cooldown.
    func record(accepted rows: [ClaimedEntry], at now: Date) async throws {
        var latest: [Favourite: Int64] = [:]
        for row in rows {
            guard let broadcaster = row.broadcaster else { continue }
            latest[Favourite(user: row.entry.user, broadcaster: broadcaster)] = row.notification
        }
        guard !latest.isEmpty else { return }
        // All instances insert in the same order, which prevents deadlocks.
        let recorded = latest.sorted {
            ($0.key.user.application, $0.key.user.user, $0.key.broadcaster)
                < ($1.key.user.application, $1.key.user.user, $1.key.broadcaster)
        }
        try await db.run(
            """
            INSERT INTO cooldowns (application_id, user_id, broadcaster, notification_key, accepted_at)
            SELECT application_id, user_id, broadcaster, notification_key, \(now)
            FROM unnest(
                \(recorded.map(\.key.user.application)), \(recorded.map(\.key.user.user)),
                \(recorded.map(\.key.broadcaster)), \(recorded.map(\.value))
            ) AS accepted (application_id, user_id, broadcaster, notification_key)
            ON CONFLICT (application_id, user_id, broadcaster) DO UPDATE
            SET notification_key = EXCLUDED.notification_key, accepted_at = EXCLUDED.accepted_at
            """
        )
    }

    func pruneCooldowns(before date: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM cooldowns USING (
                SELECT application_id, user_id, broadcaster FROM cooldowns WHERE accepted_at < \(date)
                ORDER BY accepted_at LIMIT \(limit)
            ) AS old
            WHERE cooldowns.application_id = old.application_id AND cooldowns.user_id = old.user_id
                AND cooldowns.broadcaster = old.broadcaster
            """
        )
    }
}
