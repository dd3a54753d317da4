import Foundation
import Postgres
import PushAPI
import PushProviders
import ServiceHost
import Wire

/// Claims due notifications for a limited time, so that no other instance sends them; uses its own connection.
struct ClaimStore: Sendable {
    /// Sorts after every possible queue, because it has the last scalar of Unicode.
    private static let end = ProviderQueue(application: "\u{10FFFF}", service: "")

    private let connection: DedicatedConnection
    private let texts: PushTexts

    init(database: PostgresPool, texts: PushTexts) {
        self.texts = texts
        connection = database.dedicatedConnection(settings: BatchPlans.settings)
    }

    /// Returns the non-empty queues before `last` in descending order, with their circuits.
    ///
    /// The query steps through the index from queue to queue, so its cost depends on the number of queues, not of rows.
    /// It runs backwards because sent rows leave dead entries at the front of a queue, which cost as much as rows until
    /// vacuum.
    func queues(before last: ProviderQueue?, limit: Int) async throws -> [(queue: ProviderQueue, circuit: Circuit?)] {
        let last = last ?? Self.end
        let queues: PostgresQuery =
            """
            WITH RECURSIVE queues AS (
                (
                    SELECT application_id, service FROM queue
                    WHERE (application_id, service) < (\(last.application), \(last.service))
                    ORDER BY application_id DESC, service DESC LIMIT 1
                )
                UNION ALL
                SELECT next.application_id, next.service
                FROM queues CROSS JOIN LATERAL (
                    SELECT queue.application_id, queue.service FROM queue
                    WHERE (queue.application_id, queue.service) < (queues.application_id, queues.service)
                    ORDER BY queue.application_id DESC, queue.service DESC LIMIT 1
                ) AS next
            )
            SELECT queues.application_id, queues.service, \(unsafe: Circuit.columns)
            FROM (SELECT application_id, service FROM queues LIMIT \(limit)) AS queues
            LEFT JOIN circuits
                ON circuits.application_id = queues.application_id AND circuits.service = queues.service
            """
        return try await connection.segment([queues])[0].map { row in
            (ProviderQueue(application: try row.decode(at: 0), service: try row.decode(at: 1)), try Circuit(row: row))
        }
    }

    /// Claims due notifications, the most urgent first, up to each queue's quota.
    ///
    /// A device has one claim at a time, in order of urgency and then of decision. A notification that waits for a
    /// retry blocks later ones of the same or lower urgency. An unreadable row is claimed too, and does not fail the
    /// others.
    func claim(
        _ quotas: [ClaimQuota],
        at now: Date,
        until lease: Date,
        cooldown: TimeInterval
    ) async throws -> (values: [ClaimedEntry], unreadable: [FailedRow]) {
        let claim: PostgresQuery =
            """
            WITH due AS MATERIALIZED (
                SELECT next.application_id, next.user_id, next.entry_id, next.was_leased
                FROM unnest(
                    \(quotas.map(\.queue.application)), \(quotas.map(\.queue.service)), \(quotas.map(\.quota))
                ) AS queues (application_id, service, quota)
                CROSS JOIN LATERAL (
                    SELECT queue.application_id, queue.user_id, queue.entry_id,
                           queue.leased_until IS NOT NULL AS was_leased
                    FROM queue
                    WHERE queue.application_id = queues.application_id AND queue.service = queues.service
                        AND queue.due_at <= \(now)
                        AND (queue.leased_until IS NULL OR queue.leased_until <= \(now))
                        AND NOT EXISTS (
                            SELECT FROM queue AS earlier
                            WHERE earlier.device_key = queue.device_key
                                AND (earlier.priority, earlier.entry_id) < (queue.priority, queue.entry_id)
                                AND (earlier.attempts > 0 OR earlier.due_at <= \(now))
                        )
                    ORDER BY queue.priority, queue.due_at, queue.entry_id
                    LIMIT queues.quota
                    FOR UPDATE OF queue SKIP LOCKED
                ) AS next
            ),
            claimed AS (
                UPDATE queue SET leased_until = \(lease), attempts = queue.attempts + 1
                FROM due
                WHERE queue.application_id = due.application_id AND queue.user_id = due.user_id
                    AND queue.entry_id = due.entry_id
                RETURNING queue.application_id, queue.user_id, queue.entry_id, queue.device_key, queue.notification_key,
                          queue.message_id, queue.service, queue.priority, queue.collapse_key, queue.sound, queue.badge,
                          queue.cooldown_broadcaster, queue.due_at, queue.expires_at, queue.attempts,
                          queue.other_environment, due.was_leased
            )
            SELECT claimed.application_id, claimed.user_id, claimed.entry_id, claimed.device_key,
                   claimed.notification_key, claimed.message_id, claimed.service, claimed.priority,
                   claimed.collapse_key, claimed.sound, claimed.badge, claimed.expires_at, claimed.attempts,
                   claimed.other_environment, claimed.was_leased, notifications.kind, notifications.about,
                   notifications.title, notifications.android_title, notifications.body, notifications.data,
                   notifications.image_url, notifications.title_message, notifications.body_message,
                   devices.language AS device_language, devices.loc_keys, user_languages.language AS user_language,
                   notifications.cancelled_at IS NOT NULL AS is_cancelled, devices.device_id, devices.platform,
                   devices.token, devices.p256dh, devices.auth, devices.registered_at,
                   cooldowns.accepted_at IS NOT NULL AS is_in_cooldown
            FROM claimed
            JOIN notifications ON notifications.notification_key = claimed.notification_key
            LEFT JOIN devices ON devices.device_key = claimed.device_key AND devices.disabled_reason IS NULL
            LEFT JOIN user_languages
                ON user_languages.application_id = claimed.application_id AND user_languages.user_id = claimed.user_id
            LEFT JOIN cooldowns
                ON cooldowns.application_id = claimed.application_id AND cooldowns.user_id = claimed.user_id
                    AND cooldowns.broadcaster = claimed.cooldown_broadcaster
                    AND cooldowns.notification_key <> claimed.notification_key
                    AND cooldowns.accepted_at > \(now.addingTimeInterval(-cooldown))
            ORDER BY claimed.priority, claimed.due_at, claimed.entry_id
            """
        // A notification for many devices has many rows; its data and texts are decoded once.
        var contents: [Int64: ClaimedNotification] = [:]
        return try await connection.segment([claim])[0].decoded(
            key: { row in
                [try row.string("application_id"), try row.string("user_id"), "\(try row.int64("entry_id"))"]
            },
            as: { try ClaimedEntry(row: $0, texts, &contents) }
        )
    }
}

extension SetAsideKind {
    /// A notification for a device.
    ///
    /// A row with attempts blocks later notifications of its device, so a postponed row has none.
    static let queued = SetAsideKind(
        "queued_notification",
        table: "queue",
        key: ["application_id": "text", "user_id": "text", "entry_id": "bigint"],
        due: "due_at",
        postponing: "leased_until = NULL, attempts = 0",
        dropping: .deleteThen(
            """
            , counted AS (
                UPDATE notifications SET failed = notifications.failed + dropped.count
                FROM (SELECT notification_key, count(*) AS count FROM gone GROUP BY notification_key) AS dropped
                WHERE notifications.notification_key = dropped.notification_key
            )
            INSERT INTO log (
                application_id, user_id, entry_id, notification_key, outcome, reason, logged_at, device_id, platform,
                attempts
            )
            SELECT gone.application_id, gone.user_id, gone.entry_id, gone.notification_key, 'failed', 'unreadable',
                   now(), devices.device_id, devices.platform, gone.attempts
            FROM gone LEFT JOIN devices ON devices.device_key = gone.device_key
            """
        )
    )
}

extension ClaimedEntry {
    fileprivate init(row: PostgresRow, _ texts: PushTexts, _ contents: inout [Int64: ClaimedNotification]) throws {
        let user = User.ID(application: try row.string("application_id"), user: try row.string("user_id"))
        guard let kind = NotificationKind(rawValue: try row.string("kind")) else {
            throw try row.cell("kind").error("is not a known kind")
        }
        let otherEnvironment = try row.bool("other_environment")
        let about = try row.optionalString("about")
        let notification = try row.int64("notification_key")
        let content: ClaimedNotification
        if let cached = contents[notification] {
            content = cached
        } else {
            content = try ClaimedNotification(row: row)
            contents[notification] = content
        }
        self.init(
            entry: ProviderQueue.Entry(user: user, id: try row.int64("entry_id")),
            queue: ProviderQueue(application: user.application, service: try row.string("service")),
            notification: notification,
            kind: kind,
            broadcaster: kind == .broadcast ? about : nil,
            message: try PushMessage(row: row, content, texts),
            device: try Device(row: row, otherEnvironment: otherEnvironment),
            attempts: try row.int("attempts"),
            isResend: try row.bool("was_leased"),
            otherEnvironment: otherEnvironment,
            isCancelled: try row.bool("is_cancelled"),
            isInCooldown: try row.bool("is_in_cooldown")
        )
    }
}

private struct ClaimedNotification {
    let data: [String: EncodedJSON]
    let titleMessage: NotificationText?
    let bodyMessage: NotificationText?

    init(row: PostgresRow) throws {
        data = try row.optionalString("data").map { try EncodedJSON.members(of: Data($0.utf8)) } ?? [:]
        titleMessage = try NotificationText(encoded: row.optionalString("title_message"))
        bodyMessage = try NotificationText(encoded: row.optionalString("body_message"))
    }
}

extension PushMessage {
    fileprivate init(row: PostgresRow, _ content: ClaimedNotification, _ texts: PushTexts) throws {
        // The previous release removes only the text, so a message without its text is ignored.
        var title = try row.optionalString("title")
        let titleMessage = title == nil ? nil : content.titleMessage
        var body = try row.optionalString("body")
        let bodyMessage = body == nil ? nil : content.bodyMessage
        let language = texts.language(
            device: try row.optionalString("device_language"),
            user: try row.optionalString("user_language")
        )
        if let titleMessage { title = texts.text(titleMessage, in: language) ?? title }
        if let bodyMessage { body = texts.text(bodyMessage, in: language) ?? body }
        // NULL if the device was deleted.
        let usesKeys = try row.decodeIfPresent("loc_keys", as: Bool.self) ?? false
        let priority: Priority =
            switch try row.int("priority") {
            case NotificationPriority.high.rank: .high
            case NotificationPriority.normal.rank: .normal
            default: .low
            }
        self.init(
            id: try row.uuid("message_id"),
            title: title,
            androidTitle: try row.optionalString("android_title"),
            body: body,
            data: content.data,
            badge: try row.optionalInt("badge"),
            sound: try row.optionalString("sound"),
            imageURL: try row.optionalString("image_url"),
            collapseKey: try row.optionalString("collapse_key"),
            expires: try row.date("expires_at"),
            priority: priority,
            kind: title == nil && body == nil ? .background : .alert,
            localizedTitle: usesKeys ? titleMessage.flatMap { texts.localization(of: $0, in: language) } : nil,
            localizedBody: usesKeys ? bodyMessage.flatMap { texts.localization(of: $0, in: language) } : nil
        )
    }
}

extension ClaimedEntry.Device {
    /// Returns nil if the device was deleted.
    fileprivate init?(row: PostgresRow, otherEnvironment: Bool) throws {
        guard let name = try row.optionalString("platform"), let platform = DevicePlatform(rawValue: name) else {
            return nil
        }
        let token = try row.string("token")
        let target: PushTarget
        switch platform {
        case .iosProduction: target = .apns(token: token, environment: otherEnvironment ? .sandbox : .production)
        case .iosSandbox: target = .apns(token: token, environment: otherEnvironment ? .production : .sandbox)
        case .gcm: target = .fcm(token: token)
        case .web:
            let (key, secret) = (try row.string("p256dh"), try row.string("auth"))
            target = .web(endpoint: token, p256dh: key, auth: secret)
        }
        self.init(
            key: try row.int64("device_key"),
            id: try row.string("device_id"),
            platform: platform,
            target: target,
            token: token,
            registeredAt: try row.date("registered_at")
        )
    }
}
