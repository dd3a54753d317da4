import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

struct HeldKey: Sendable {
    let user: User.ID
    let about: String

    var columns: [String] { [user.application, user.user, about] }
}

extension SetAsideKind {
    static let held = SetAsideKind(
        "held_notification",
        table: "held",
        key: ["application_id": "text", "user_id": "text", "about": "text"],
        due: "due_at"
    )
}

/// The table `held`: notifications that wait for the end of quiet hours.
struct HeldStore<Executor: PostgresExecutor> {
    let db: Executor

    struct Held: Sendable {
        let notification: PendingNotification
        let key: HeldKey
        let recipient: HeldRecipient?
        let until: Date
    }

    /// Deletes and returns due rows; returns unreadable rows without deleting them.
    ///
    /// No other transaction receives these rows unless this transaction fails.
    func claimDue(at now: Date, limit: Int) async throws -> (values: [Held], unreadable: [FailedRow]) {
        let due = try await db.execute(
            """
            SELECT due.application_id, due.user_id, due.about AS held_about, due.recipient, due.held_until,
                   \(unsafe: PendingNotification.columns)
            FROM (
                SELECT application_id, user_id, about, notification_key, recipient, held_until
                FROM held WHERE due_at <= \(now)
                ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            ) AS due
            LEFT JOIN notifications ON notifications.notification_key = due.notification_key
            ORDER BY due.notification_key
            """
        ).decoded(key: { try HeldKey(row: $0).columns }) { row in
            (key: try HeldKey(row: row), held: try Held(row: row))
        }
        let keys = due.values.map { $0.key }
        try await db.run(
            """
            DELETE FROM held
            USING unnest(\(keys.map(\.user.application)), \(keys.map(\.user.user)), \(keys.map(\.about)))
                AS due (application_id, user_id, about)
            WHERE held.application_id = due.application_id AND held.user_id = due.user_id
                AND held.about = due.about
            """
        )
        return (due.values.compactMap { $0.held }, due.unreadable)
    }

    func hasDue(at now: Date) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM held WHERE due_at <= \(now)) AS has_due",
            as: { try $0.bool("has_due") }
        )
    }

    /// Holds notifications; each replaces an earlier one about the same subject, which is logged as replaced.
    func hold(_ rows: [FanOutResult.HeldRow], of batch: Batch, at now: Date) async throws {
        guard !rows.isEmpty else { return }
        let users = rows.map(\.candidate.user)
        let notifications = rows.map { batch.notifications[$0.candidate.notification] }
        let recipients = try rows.map { try HeldRecipient($0.candidate)?.encoded() }
        try await db.run(
            """
            WITH replaced AS (
                DELETE FROM held
                USING unnest(\(users.map(\.application)), \(users.map(\.user)), \(notifications.map(\.holdKey)))
                    AS newer (application_id, user_id, about)
                WHERE held.application_id = newer.application_id AND held.user_id = newer.user_id
                    AND held.about = newer.about
                RETURNING held.application_id, held.user_id, held.notification_key
            ),
            counted AS (
                UPDATE notifications
                SET held = notifications.held - counts.count, withheld = notifications.withheld + counts.count
                FROM (SELECT notification_key, count(*) AS count FROM replaced GROUP BY notification_key) AS counts
                WHERE notifications.notification_key = counts.notification_key
            )
            INSERT INTO log (application_id, user_id, notification_key, outcome, reason, logged_at)
            SELECT application_id, user_id, notification_key, 'replaced', \(Rules.quietReason), \(now) FROM replaced
            """
        )
        try await db.run(
            """
            INSERT INTO held (application_id, user_id, about, notification_key, recipient, held_until, due_at)
            SELECT application_id, user_id, about, notification_key, recipient, held_until, held_until
            FROM unnest(
                \(users.map(\.application)), \(users.map(\.user)), \(notifications.map(\.holdKey)),
                \(notifications.map(\.key)), \(recipients), \(rows.map(\.until))
            ) AS newer (application_id, user_id, about, notification_key, recipient, held_until)
            ON CONFLICT (application_id, user_id, about) DO UPDATE
            SET notification_key = EXCLUDED.notification_key, recipient = EXCLUDED.recipient,
                held_until = EXCLUDED.held_until, due_at = EXCLUDED.due_at
            """
        )
    }

    /// Makes the user's held notifications due, after a change of settings.
    func release(_ user: User.ID, at now: Date) async throws {
        try await db.run(
            """
            UPDATE held SET due_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND due_at > \(now)
            """
        )
    }

    func count() async throws -> Int {
        try await db.one("SELECT count(*) AS n FROM held", as: { try $0.int("n") })
    }
}

/// The part of a held notification that differs between recipients.
struct HeldRecipient: Codable, Sendable {
    var exceptDevices: [String]?
    var onlyDevices: [Int64]?
    var badge: NotificationBadge?

    init?(_ candidate: Candidate) {
        exceptDevices = candidate.exceptDevices.isEmpty ? nil : candidate.exceptDevices
        onlyDevices = candidate.onlyDevices.map { $0.sorted() }
        badge = candidate.badge
        guard exceptDevices != nil || onlyDevices != nil || badge != nil else { return nil }
    }

    fileprivate func encoded() throws -> String {
        String(decoding: try WireJSON.encoder().encode(self), as: UTF8.self)
    }
}

extension HeldKey {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            about: try row.string("held_about")
        )
    }
}

extension HeldStore.Held {
    /// Returns nil if the notification was deleted.
    fileprivate init?(row: PostgresRow) throws {
        guard try row.optionalInt64("notification_key") != nil else { return nil }
        self.init(
            notification: try PendingNotification(row: row),
            key: try HeldKey(row: row),
            recipient: try row.optionalString("recipient").map { text in
                try WireJSON.decoder().decode(HeldRecipient.self, from: Data(text.utf8))
            },
            until: try row.date("held_until")
        )
    }

    func candidate(notification: Int) -> Candidate {
        Candidate(
            notification: notification,
            user: key.user,
            exceptDevices: recipient?.exceptDevices ?? [],
            onlyDevices: recipient?.onlyDevices.map(Set.init),
            badge: recipient?.badge,
            heldUntil: until
        )
    }
}
