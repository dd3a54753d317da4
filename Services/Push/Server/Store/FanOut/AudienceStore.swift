import Foundation
import Postgres
import PushAPI
import Wire

struct AudienceStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns the users of all applications who have the broadcaster as a favourite.
    func favourites(of broadcaster: String, after user: User.ID, limit: Int) async throws -> [User.ID] {
        try await db.all(
            """
            SELECT application_id, user_id FROM subscriptions
            WHERE broadcaster = \(broadcaster) AND removed_at IS NULL
                AND (application_id, user_id) > (\(user.application), \(user.user))
            ORDER BY application_id, user_id LIMIT \(limit)
            """,
            as: { User.ID(application: try $0.decode(at: 0), user: try $0.decode(at: 1)) }
        )
    }

    func subscribers(
        to topic: String,
        of application: String,
        after user: String,
        limit: Int
    ) async throws -> [User.ID] {
        try await db.all(
            """
            SELECT user_id FROM topic_subscriptions
            WHERE application_id = \(application) AND topic = \(topic) AND user_id > \(user)
            ORDER BY user_id LIMIT \(limit)
            """,
            as: { User.ID(application: application, user: try $0.decode(at: 0)) }
        )
    }

    func owners(of devices: [String], in application: String) async throws -> [String: Set<Int64>] {
        let rows = try await db.all(
            """
            SELECT user_id, device_key FROM devices
            WHERE application_id = \(application) AND device_id = ANY (\(devices))
            """,
            as: { (try $0.decode(at: 0, as: String.self), try $0.decode(at: 1, as: Int64.self)) }
        )
        return rows.reduce(into: [:]) { $0[$1.0, default: []].insert($1.1) }
    }

    /// Returns the settings of each candidate, in the order of the batch.
    func recipientSettings(of batch: Batch) async throws -> [RecipientSettings] {
        let broadcasters = batch.candidates.map { batch.notifications[$0.notification].broadcaster }
        return try await db.all(
            """
            SELECT settings.enabled, settings.quiet_start, settings.quiet_end, settings.time_zone,
                   settings.disabled_communities, settings.disabled_kinds, subscriptions.notify, subscriptions.cooldown,
                   subscriptions.sound, subscriptions.disabled_communities, cooldowns.accepted_at
            FROM unnest(
                \(batch.candidates.map(\.user.application)), \(batch.candidates.map(\.user.user)), \(broadcasters)
            ) WITH ORDINALITY AS candidates (application_id, user_id, broadcaster, ordinal)
            LEFT JOIN settings
                ON settings.application_id = candidates.application_id AND settings.user_id = candidates.user_id
            LEFT JOIN subscriptions
                ON subscriptions.application_id = candidates.application_id
                    AND subscriptions.user_id = candidates.user_id
                    AND subscriptions.broadcaster = candidates.broadcaster AND subscriptions.removed_at IS NULL
            LEFT JOIN cooldowns
                ON cooldowns.application_id = candidates.application_id AND cooldowns.user_id = candidates.user_id
                    AND cooldowns.broadcaster = candidates.broadcaster
            ORDER BY candidates.ordinal
            """,
            as: RecipientSettings.init(row:)
        )
    }

    func devices(of users: Set<User.ID>) async throws -> [User.ID: [TargetDevice]] {
        let users = Array(users)
        let rows = try await db.execute(
            """
            SELECT devices.application_id, devices.user_id, devices.device_key, devices.device_id, devices.session_id,
                   devices.platform, \(unsafe: TargetDevice.service)
            FROM unnest(\(users.map(\.application)), \(users.map(\.user))) AS users (application_id, user_id)
            JOIN devices ON devices.application_id = users.application_id AND devices.user_id = users.user_id
            WHERE devices.disabled_reason IS NULL
            ORDER BY devices.device_key
            """
        )
        var found: [User.ID: [TargetDevice]] = [:]
        for row in rows {
            let user = User.ID(application: try row.decode(at: 0), user: try row.decode(at: 1))
            found[user, default: []].append(
                TargetDevice(
                    key: try row.decode(at: 2),
                    id: try row.decode(at: 3),
                    session: try row.decodeIfPresent(at: 4),
                    platform: try row.decode(at: 5),
                    service: try row.decode(at: 6)
                )
            )
        }
        return found
    }

    /// Returns the icon numbers of devices, and locks them until the transaction ends.
    func lockBadges(of devices: [Int64]) async throws -> [Int64: Int64] {
        let rows = try await db.all(
            """
            SELECT device_key, badge FROM devices WHERE device_key = ANY (\(devices))
            ORDER BY device_key FOR NO KEY UPDATE
            """,
            as: { (try $0.decode(at: 0, as: Int64.self), try $0.decode(at: 1, as: Int64.self)) }
        )
        return Dictionary(uniqueKeysWithValues: rows)
    }

    func set(badges: [Int64: Int64]) async throws {
        let badges = Array(badges)
        try await db.run(
            """
            UPDATE devices SET badge = numbers.badge
            FROM unnest(\(badges.map(\.key)), \(badges.map(\.value))) AS numbers (device_key, badge)
            WHERE devices.device_key = numbers.device_key
            """
        )
    }
}

extension TargetDevice {
    /// The value of ``PushTarget/service`` in SQL.
    fileprivate static let service = """
        CASE devices.platform WHEN 'gcm' THEN 'fcm' WHEN 'ios_production' THEN 'apns-production'
            WHEN 'ios_sandbox' THEN 'apns-sandbox'
            ELSE coalesce(left(lower(substring(devices.token FROM '^[A-Za-z]+://[^/?#]+')), 300), 'web') END
        """
}

extension RecipientSettings {
    fileprivate init(row: PostgresRow) throws {
        self.init()
        if let isEnabled: Bool = try row.decodeIfPresent(at: 0) {
            self.isEnabled = isEnabled
            if let start: Int = try row.decodeIfPresent(at: 1), let end: Int = try row.decodeIfPresent(at: 2),
                let zone: String = try row.decodeIfPresent(at: 3)
            {
                quietHours = QuietWindow(start: start, end: end, timeZone: zone)
            }
            disabledCommunities = try row.decode(at: 4)
            disabledKinds = try row.decode(at: 5)
        }
        guard let notify: Bool = try row.decodeIfPresent(at: 6) else { return }
        favourite = FavouriteSettings(
            notify: notify,
            cooldown: try row.decode(at: 7),
            sound: try row.decode(at: 8),
            disabledCommunities: try row.decode(at: 9),
            lastAccepted: try row.decodeIfPresent(at: 10)
        )
    }
}
