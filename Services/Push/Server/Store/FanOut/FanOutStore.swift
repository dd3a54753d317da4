import Foundation
import Postgres
import PushAPI
import ServiceHost
import Wire

/// The partitions of `fanouts`, one for each row of `fanout_partitions`.
enum FanOutPartitions {
    static let count = 8
}

/// The table `fanouts`: notifications with undecided recipients, and the position in their recipients.
struct FanOutStore<Executor: PostgresExecutor> {
    let db: Executor

    struct FanOutJob: Sendable {
        let notification: PendingNotification
        let audience: Audience
        let after: User.ID
    }

    func hasWork(at now: Date) async throws -> Bool {
        try await db.one(
            """
            SELECT EXISTS (
                SELECT FROM fanout_partitions WHERE EXISTS (
                    SELECT FROM fanouts
                    WHERE fanouts.partition = fanout_partitions.partition AND fanouts.next_run_at <= \(now)
                )
            ) AS has_work
            """,
            as: { try $0.bool("has_work") }
        )
    }

    /// Locks and returns the partition whose turn it is, until the transaction ends; skips locked partitions.
    func lockPartition(at now: Date) async throws -> Int? {
        try await db.first(
            """
            SELECT partition FROM fanout_partitions
            WHERE EXISTS (
                SELECT FROM fanouts
                WHERE fanouts.partition = fanout_partitions.partition AND fanouts.next_run_at <= \(now)
            )
            ORDER BY (SELECT min(next_run_at) FROM fanouts WHERE fanouts.partition = fanout_partitions.partition)
            LIMIT 1
            FOR UPDATE SKIP LOCKED
            """,
            as: { try $0.int("partition") }
        )
    }

    func due(
        in partition: Int,
        at now: Date,
        limit: Int
    ) async throws -> (values: [FanOutJob], unreadable: [FailedRow]) {
        try await db.execute(
            """
            SELECT fanouts.audience, fanouts.audience_value, fanouts.after_application_id, fanouts.after_user_id,
                   \(unsafe: PendingNotification.columns)
            FROM fanouts JOIN notifications ON notifications.notification_key = fanouts.notification_key
            WHERE fanouts.partition = \(partition) AND fanouts.next_run_at <= \(now)
            ORDER BY fanouts.next_run_at, fanouts.after_user_id IS NOT NULL, fanouts.notification_key
            LIMIT \(limit)
            """
        ).decoded(key: { ["\(try $0.int64("notification_key"))"] }, as: FanOutJob.init(row:))
    }

    /// Continues after `user` in a later batch, when the other due notifications had their turn.
    func advance(_ notification: Int64, after user: User.ID, at now: Date) async throws {
        try await db.run(
            """
            UPDATE fanouts
            SET after_application_id = \(user.application), after_user_id = \(user.user), next_run_at = \(now)
            WHERE notification_key = \(notification)
            """
        )
    }

    func finish(_ notifications: [Int64]) async throws {
        guard !notifications.isEmpty else { return }
        try await db.run("DELETE FROM fanouts WHERE notification_key = ANY (\(notifications))")
    }

    func count() async throws -> Int {
        try await db.one("SELECT count(*) AS n FROM fanouts", as: { try $0.int("n") })
    }
}

extension SetAsideKind {
    static let fanout = SetAsideKind(
        "fanout",
        table: "fanouts",
        key: ["notification_key": "bigint"],
        due: "next_run_at"
    )
}

extension FanOutStore.FanOutJob {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            notification: try PendingNotification(row: row),
            audience: try Audience(typeName: row.string("audience"), encoded: row.string("audience_value")),
            after: User.ID(
                application: try row.optionalString("after_application_id") ?? "",
                user: try row.optionalString("after_user_id") ?? ""
            )
        )
    }
}

extension PendingNotification {
    static let columns = """
        notifications.notification_key, notifications.application_id AS sender_application_id, notifications.kind,
        notifications.about, notifications.community, notifications.badge, notifications.badge_increment,
        notifications.sound, notifications.title IS NOT NULL OR notifications.body IS NOT NULL AS is_shown,
        notifications.collapse_key, notifications.priority, notifications.expires_at,
        notifications.cancelled_at IS NOT NULL AS is_cancelled
        """

    init(row: PostgresRow) throws {
        let number: Int64? = try row.decodeIfPresent("badge")
        let kind = try row.string("kind")
        guard let kind = NotificationKind(rawValue: kind) else {
            throw try row.cell("kind").error("is not a known kind")
        }
        self.init(
            key: try row.int64("notification_key"),
            application: try row.string("sender_application_id"),
            kind: kind,
            about: try row.optionalString("about"),
            community: try row.optionalString("community"),
            badge: try row.bool("badge_increment") ? .increment : number.map(NotificationBadge.number),
            sound: try row.optionalString("sound"),
            isShown: try row.bool("is_shown"),
            collapseKey: try row.optionalString("collapse_key"),
            priority: try row.int("priority"),
            expires: try row.date("expires_at"),
            isCancelled: try row.bool("is_cancelled")
        )
    }
}
