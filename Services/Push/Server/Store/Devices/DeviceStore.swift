import Foundation
import Postgres
import PushAPI
import Wire

struct DeviceRegistration: Sendable {
    let user: User.ID
    let deviceID: String
    let session: String
    let address: DeviceAddress
    /// Nil for a registration without texts, which keeps the device's values.
    var texts: DeviceTexts?
}

struct DeviceTexts: Sendable {
    /// A BCP 47 tag in canonical case; nil to use the user's language.
    var language: String?
    var locKeys = false
}

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

struct DeviceStore<Executor: PostgresExecutor> {
    private static var columns: String {
        """
        device_key, device_id, session_id, platform, token, registered_at, seen_at, disabled_reason, language, loc_keys
        """
    }

    let db: Executor

    /// Blocks other registrations of the token until the transaction ends.
    func lock(_ address: DeviceAddress) async throws {
        try await db.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('push token ' || encode(\(address.hash), 'hex'), 0))"
        )
    }

    /// Deletes every other device of the application that has the token, of any user.
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

    /// Deletes the user's devices that were seen longest ago, beyond `limit`.
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

    /// Sets the badge; the report also counts as seeing the device.
    func set(badge: Int64, of device: String, _ user: User.ID, at now: Date) async throws {
        try await db.run(
            """
            UPDATE devices SET badge = \(badge), seen_at = greatest(seen_at, \(now))
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND device_id = \(device)
            """
        )
    }

    /// Deletes up to `limit` devices not seen since `date`; returns their number.
    ///
    /// Deletes FCM devices, whose tokens expire, and disabled devices of any provider.
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
        let name = try row.string("platform")
        guard let platform = DevicePlatform(rawValue: name) else {
            throw APIError(.internal, "unknown_platform", "a device has the unknown platform \(name)")
        }
        self.init(
            key: try row.int64("device_key"),
            deviceID: try row.string("device_id"),
            session: try row.optionalString("session_id"),
            platform: platform,
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
