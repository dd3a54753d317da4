import Foundation
import Postgres
import PushAPI
import Wire

struct NewNotification: Sendable {
    /// Empty for a broadcast, which is for all applications.
    var application: String
    var id: String
    var kind: NotificationKind
    var title: String?
    var androidTitle: String?
    var body: String?
    /// A JSON object, in compact form.
    var data: String?
    var sound: String?
    var image: String?
    var badge: NotificationBadge?
    var collapseKey: String?
    var about: String?
    /// Case-folded.
    var community: String?
    var priority: NotificationPriority
    var audience: Audience
    var createdAt: Date
    var dueAt: Date
    var expiresAt: Date
    var mentions: [String] = []
    /// The messages of which title and body are the English texts; push renders them in each device's language.
    var titleMessage: NotificationText?
    var bodyMessage: NotificationText?
    var withheld: [NotificationRequest.Withheld] = []
}

struct NotificationStore<Executor: PostgresExecutor> {
    let db: Executor

    private static var columns: String {
        """
        application_id, id, kind, title, android_title, body, data, sound, image_url, badge, badge_increment,
        collapse_key, about, community, priority, created_at, due_at, expires_at, mentions, title_message, body_message
        """
    }

    /// Stores notifications with distinct ids and their fan-out jobs; returns the number of new ones.
    ///
    /// The same statement logs the excluded users, so that a repeated request logs no user twice.
    func insert(_ notifications: [NewNotification]) async throws -> Int {
        let audiences = try notifications.map { try $0.audience.encoded() }
        let mentions = try notifications.map { try $0.mentionsText }
        let titles = try notifications.map { try $0.titleMessage?.encoded }
        let bodies = try notifications.map { try $0.bodyMessage?.encoded }
        let withheld = notifications.enumerated().flatMap { ordinal, notification in
            notification.withheld.flatMap { withheld in
                withheld.userIds.map { (ordinal: Int64(ordinal + 1), user: $0, reason: withheld.reason) }
            }
        }
        return try await db.run(
            """
            WITH drafts AS (
                SELECT \(unsafe: Self.columns), audience, audience_value, partition, ordinal FROM unnest(
                    \(notifications.map(\.application)), \(notifications.map(\.id)),
                    \(notifications.map(\.kind.rawValue)), \(notifications.map(\.title)),
                    \(notifications.map(\.androidTitle)), \(notifications.map(\.body)),
                    \(notifications.map(\.data)), \(notifications.map(\.sound)), \(notifications.map(\.image)),
                    \(notifications.map(\.badge?.number)), \(notifications.map { $0.badge == .increment }),
                    \(notifications.map(\.collapseKey)), \(notifications.map(\.about)),
                    \(notifications.map(\.community)), \(notifications.map(\.priority.rank)),
                    \(notifications.map(\.createdAt)), \(notifications.map(\.dueAt)),
                    \(notifications.map(\.expiresAt)), \(mentions), \(titles), \(bodies),
                    \(notifications.map(\.audience.typeName)), \(audiences), \(notifications.map(\.partition))
                ) WITH ORDINALITY AS drafts (\(unsafe: Self.columns), audience, audience_value, partition, ordinal)
            ),
            written AS (
                INSERT INTO notifications (\(unsafe: Self.columns))
                SELECT \(unsafe: Self.columns) FROM drafts ORDER BY ordinal
                ON CONFLICT (application_id, id) DO NOTHING
                RETURNING notification_key, application_id, id
            ),
            logged AS (
                INSERT INTO log (application_id, user_id, notification_key, outcome, reason, logged_at)
                SELECT drafts.application_id, withheld.user_id, written.notification_key, 'withheld', withheld.reason,
                       drafts.created_at
                FROM unnest(\(withheld.map(\.ordinal)), \(withheld.map(\.user)), \(withheld.map(\.reason)))
                    AS withheld (ordinal, user_id, reason)
                JOIN drafts ON drafts.ordinal = withheld.ordinal
                JOIN written ON written.application_id = drafts.application_id AND written.id = drafts.id
            )
            INSERT INTO fanouts (notification_key, partition, audience, audience_value, next_run_at)
            SELECT written.notification_key, drafts.partition, drafts.audience, drafts.audience_value, drafts.due_at
            FROM written JOIN drafts ON drafts.application_id = written.application_id AND drafts.id = written.id
            """
        )
    }

    func report(_ id: String, of application: String, at now: Date) async throws -> NotificationReport? {
        try await db.first(
            """
            SELECT id, created_at, due_at, cancelled_at, people, withheld, held, devices, sent, failed,
                   EXISTS (
                       SELECT FROM fanouts WHERE fanouts.notification_key = notifications.notification_key
                   ) AS is_undecided
            FROM notifications
            WHERE application_id = \(application) AND id = \(id) AND kind = 'server'
            """,
            as: { try NotificationReport(row: $0, at: now) }
        )
    }

    /// Cancels the part of a server's notification that is not sent yet.
    func cancel(_ id: String, of application: String, at now: Date) async throws {
        try await db.run(
            """
            UPDATE notifications SET cancelled_at = coalesce(cancelled_at, \(now))
            WHERE application_id = \(application) AND id = \(id) AND kind = 'server'
            """
        )
    }

    func dropFanout(_ id: String, of application: String) async throws {
        try await db.run(
            """
            DELETE FROM fanouts USING notifications
            WHERE fanouts.notification_key = notifications.notification_key
                AND notifications.application_id = \(application) AND notifications.id = \(id)
                AND notifications.kind = 'server'
            """
        )
    }

    /// Removes the text of notifications, and cancels pending ones that have no text left.
    func recall(_ recalled: NotificationRecalled, at now: Date) async throws {
        let (id, isDeleted) = (recalled.notificationId, recalled.isDeleted)
        try await db.run(
            """
            WITH recalled AS (
                UPDATE notifications
                SET body = NULL, body_message = NULL, image_url = NULL,
                    title = CASE WHEN \(isDeleted) THEN NULL ELSE title END,
                    android_title = CASE WHEN \(isDeleted) THEN NULL ELSE android_title END,
                    title_message = CASE WHEN \(isDeleted) THEN NULL ELSE title_message END,
                    data = CASE WHEN \(isDeleted) THEN NULL ELSE data END,
                    mentions = CASE WHEN \(isDeleted) THEN NULL ELSE mentions END,
                    cancelled_at = CASE WHEN \(isDeleted) OR title IS NULL
                        THEN coalesce(cancelled_at, \(now)) ELSE cancelled_at END
                -- A semicolon follows a colon in byte order, so the range is all ids with this prefix and a colon.
                WHERE application_id = \(recalled.applicationId)
                    AND (id = \(id) OR id > \(id + ":") AND id < \(id + ";"))
                RETURNING notification_key, cancelled_at IS NOT NULL AS is_cancelled
            )
            DELETE FROM fanouts USING recalled
            WHERE fanouts.notification_key = recalled.notification_key AND recalled.is_cancelled
            """
        )
    }

    func addCounts(_ counts: [(key: Int64, FanOutResult.Counts)]) async throws {
        let counts = counts.filter { $0.1 != FanOutResult.Counts() }.sorted { $0.key < $1.key }
        guard !counts.isEmpty else { return }
        try await db.run(
            """
            UPDATE notifications
            SET people = notifications.people + more.people, withheld = notifications.withheld + more.withheld,
                held = notifications.held + more.held, devices = notifications.devices + more.devices,
                failed = notifications.failed + more.failed
            FROM unnest(
                \(counts.map(\.key)), \(counts.map(\.1.people)), \(counts.map(\.1.withheld)), \(counts.map(\.1.held)),
                \(counts.map(\.1.devices)), \(counts.map(\.1.failed))
            ) AS more (notification_key, people, withheld, held, devices, failed)
            WHERE notifications.notification_key = more.notification_key
            """
        )
    }

    func addCounts(sent: [Int64: Int], failed: [Int64: Int]) async throws {
        let keys = Set(sent.keys).union(failed.keys).sorted()
        guard !keys.isEmpty else { return }
        try await db.run(
            """
            UPDATE notifications
            SET sent = notifications.sent + more.sent, failed = notifications.failed + more.failed
            FROM unnest(\(keys), \(keys.map { sent[$0] ?? 0 }), \(keys.map { failed[$0] ?? 0 }))
                AS more (notification_key, sent, failed)
            WHERE notifications.notification_key = more.notification_key
            """
        )
    }

    func prune(expiredBefore date: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM notifications WHERE notification_key IN (
                SELECT notification_key FROM notifications WHERE expires_at < \(date) ORDER BY expires_at LIMIT \(limit)
            )
            """
        )
    }
}

extension NotificationReport {
    fileprivate init(row: PostgresRow, at now: Date) throws {
        let (devices, sent, failed) = (try row.int("devices"), try row.int("sent"), try row.int("failed"))
        let held = try row.int("held")
        let dueAt = try row.date("due_at")
        let createdAt = try row.date("created_at")
        let isUndecided = try row.bool("is_undecided")
        let state: State =
            if try row.optionalDate("cancelled_at") != nil {
                .cancelled
            } else if isUndecided, now < dueAt {
                .scheduled
            } else if isUndecided || sent + failed < devices || held > 0 {
                .sending
            } else {
                .done
            }
        self.init(
            id: try row.string("id"),
            state: state,
            createdAt: createdAt,
            sendAt: dueAt > createdAt ? dueAt : nil,
            people: try row.int("people"),
            withheld: try row.int("withheld"),
            held: held,
            devices: devices,
            sent: sent,
            failed: failed
        )
    }
}

extension NewNotification {
    /// The fan-out partition, by application and subject: one partition decides a subject's notifications in order.
    fileprivate var partition: Int {
        let about = about ?? ""
        // FNV-1a gives the same value in every process; Swift's own hash does not.
        let hash = (application + "\0" + about).utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return Int(hash % UInt64(FanOutPartitions.count))
    }
}

extension NewNotification {
    /// The mentions as a JSON array, in which a JSON string is searched; nil without mentions.
    fileprivate var mentionsText: String? {
        get throws {
            guard !mentions.isEmpty else { return nil }
            let names = JSONValue.array(mentions.map { .string($0) })
            return String(decoding: try names.compact(), as: UTF8.self)
        }
    }
}

extension NotificationPriority {
    var rank: Int {
        switch self {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }
}

extension NotificationBadge {
    fileprivate var number: Int64? { if case .number(let number) = self { number } else { nil } }
}
