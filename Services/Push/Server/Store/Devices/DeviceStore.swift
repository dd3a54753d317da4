import Foundation
import Postgres
import PushAPI
import Wire

/// Where somebody says he is reached, and by which session's word.
struct DeviceRegistration: Sendable {
    let user: User.ID
    let deviceID: String
    let session: String
    let address: DeviceAddress
    /// Nil where the registration says nothing about texts, and those of the device stay as they are.
    var texts: DeviceTexts?
}

/// How a device shows texts from the message catalogues.
struct DeviceTexts: Sendable {
    /// A BCP 47 tag in canonical case, in place of its user's language.
    var language: String?
    /// Whether the app translates keys and arguments itself.
    var locKeys = false
}

/// A row of `devices`, as its owner sees it.
struct DeviceRecord: Sendable {
    let key: Int64
    let deviceID: String
    let session: String?
    let platform: DevicePlatform
    let token: String
    let registeredAt: Date
    let seenAt: Date
    let disabledReason: String?
    let texts: DeviceTexts
}

/// The table `devices`.
struct DeviceStore<Executor: PostgresExecutor> {
    private static var columns: String {
        """
        device_key, device_id, session_id, platform, token, registered_at, seen_at, disabled_reason, language, loc_keys
        """
    }

    let db: Executor

    /// Nobody else gives this token to a device until the transaction ends.
    func lock(_ address: DeviceAddress) async throws {
        try await db.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('push token ' || encode(\(address.hash), 'hex'), 0))"
        )
    }

    /// Takes a token from every other device of the application, whosever it is.
    func delete(holding address: DeviceAddress, except device: String, of user: User.ID) async throws {
        try await db.run(
            """
            DELETE FROM devices
            WHERE application_id = \(user.application)
                AND provider = CASE \(address.platform.rawValue)
                    WHEN 'gcm' THEN 'fcm' WHEN 'web' THEN 'web' ELSE 'apns' END
                AND token_hash = \(address.hash)
                AND (user_id, device_id) <> (\(user.user), \(device))
            """
        )
    }

    func upsert(_ registration: DeviceRegistration, at now: Date) async throws -> DeviceRecord {
        let (user, address) = (registration.user, registration.address)
        let (hasTexts, texts) = (registration.texts != nil, registration.texts ?? DeviceTexts())
        return try await db.one(
            """
            INSERT INTO devices (application_id, user_id, device_id, session_id, platform, token, token_hash,
                                 p256dh, auth, registered_at, seen_at, language, loc_keys)
            VALUES (\(user.application), \(user.user), \(registration.deviceID), \(registration.session),
                    \(address.platform.rawValue), \(address.token), \(address.hash),
                    \(address.keys?.p256dh), \(address.keys?.auth), \(now), \(now), \(texts.language), \(texts.locKeys))
            ON CONFLICT ON CONSTRAINT devices_device_id_key DO UPDATE
            SET session_id = excluded.session_id, platform = excluded.platform, token = excluded.token,
                token_hash = excluded.token_hash, p256dh = excluded.p256dh, auth = excluded.auth,
                registered_at = excluded.registered_at, seen_at = excluded.seen_at, disabled_reason = NULL,
                language = CASE WHEN \(hasTexts) THEN excluded.language ELSE devices.language END,
                loc_keys = CASE WHEN \(hasTexts) THEN excluded.loc_keys ELSE devices.loc_keys END
            RETURNING \(unsafe: Self.columns)
            """,
            as: DeviceRecord.init(row:)
        )
    }

    /// Forgets those of somebody that were seen longest ago, where there are more than `limit`.
    func trim(_ user: User.ID, to limit: Int) async throws {
        try await db.run(
            """
            DELETE FROM devices WHERE device_key IN (
                SELECT device_key FROM devices
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                ORDER BY seen_at DESC, device_key DESC OFFSET \(limit)
            )
            """
        )
    }

    /// In the order in which they were first registered.
    func page(of user: User.ID, after key: Int64, limit: Int) async throws -> [DeviceRecord] {
        try await db.all(
            """
            SELECT \(unsafe: Self.columns) FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND device_key > \(key)
            ORDER BY device_key LIMIT \(limit)
            """,
            as: DeviceRecord.init(row:)
        )
    }

    /// False: it is nobody's, or another's.
    func delete(_ key: Int64, of user: User.ID) async throws -> Bool {
        try await db.run(
            """
            DELETE FROM devices
            WHERE device_key = \(key) AND application_id = \(user.application) AND user_id = \(user.user)
            """
        ) == 1
    }

    func delete(registeredIn session: String) async throws {
        try await db.run("DELETE FROM devices WHERE session_id = \(session)")
    }

    func delete(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM devices WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }

    /// An app that says what its icon shows was also seen.
    func set(badge: Int64, of device: String, _ user: User.ID, at now: Date) async throws {
        try await db.run(
            """
            UPDATE devices SET badge = \(badge), seen_at = greatest(seen_at, \(now))
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND device_id = \(device)
            """
        )
    }

    /// Forgets up to `limit` that were not seen since `date`: Google's, whose tokens end then, and any that nothing is
    /// sent to anyway; answers how many.
    func delete(unseenSince date: Date, limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM devices WHERE device_key IN (
                SELECT device_key FROM devices
                WHERE seen_at < \(date) AND (provider = 'fcm' OR disabled_reason IS NOT NULL)
                LIMIT \(limit)
            )
            """
        )
    }
}

extension DeviceRecord {
    fileprivate init(row: PostgresRow) throws {
        let platform = try row.string("platform")
        guard let known = DevicePlatform(rawValue: platform) else {
            throw APIError(.internal, "unknown_platform", "a device has the platform \(platform)")
        }
        self.init(
            key: try row.int64("device_key"),
            deviceID: try row.string("device_id"),
            session: try row.optionalString("session_id"),
            platform: known,
            token: try row.string("token"),
            registeredAt: try row.date("registered_at"),
            seenAt: try row.date("seen_at"),
            disabledReason: try row.optionalString("disabled_reason"),
            texts: DeviceTexts(
                language: try row.optionalString("language"),
                locKeys: try row.bool("loc_keys")
            )
        )
    }
}
