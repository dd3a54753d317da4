import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `devices`, and the `meta` of users.
struct DeviceStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns a user with all devices, the oldest first; nil for an unknown user.
    func owner(_ user: User.ID) async throws -> Device.Owner? {
        let rows = try await db.execute(
            """
            SELECT users.user_number, users.meta, devices.device_number, devices.serial, devices.platform,
                   devices.push_token, devices.meta AS device_meta
            FROM users
            LEFT JOIN devices ON devices.application_id = users.application_id AND devices.user_id = users.user_id
            WHERE users.application_id = \(user.application) AND users.user_id = \(user.user)
            ORDER BY devices.device_number
            """
        )
        guard let first = rows.first else { return nil }
        return Device.Owner(
            id: try first.decode("user_number"),
            serial: user.user,
            meta: try first.optionalString("meta").map(JSONValue.init(compact:)),
            devices: try rows.compactMap(Device.Summary.init(row:))
        )
    }

    /// Records that the device was seen again.
    func note(_ serial: String, of user: User.ID, seenAt now: Date) async throws {
        try await db.run(
            """
            UPDATE devices SET seen_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """
        )
    }

    /// The time when a device was last seen, and the session whose push registration it has.
    struct StoredRegistration: Sendable {
        var seenAt: Date
        var session: String?
    }

    func storedRegistration(_ serial: String, of user: User.ID) async throws -> StoredRegistration? {
        try await db.first(
            """
            SELECT seen_at, session_id FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """,
            as: { StoredRegistration(seenAt: try $0.date("seen_at"), session: try $0.optionalString("session_id")) }
        )
    }

    /// Applies the push registration of a session's sign-in, unless the session has already applied one: a later token
    /// from `devices/updatePushToken` stays.
    ///
    /// A session without a token ends the registration of the device's previous session, as it does in push.
    func register(
        pushToken: String?,
        platform: String?,
        session: String,
        _ serial: String,
        of user: User.ID
    ) async throws {
        try await db.run(
            """
            UPDATE devices
            SET push_token = CASE WHEN session_id IS NULL THEN coalesce(push_token, \(pushToken)) ELSE \(pushToken) END,
                platform = coalesce(\(platform), platform), session_id = \(session)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
                AND session_id IS DISTINCT FROM \(session)
            """
        )
    }

    /// Adds a device; beyond `limit` devices of the user, those seen longest ago are deleted.
    func insert(_ serial: String, of user: User.ID, at now: Date, limit: Int) async throws {
        try await db.run(
            """
            INSERT INTO devices (application_id, user_id, serial, seen_at)
            VALUES (\(user.application), \(user.user), \(serial), \(now))
            ON CONFLICT (application_id, user_id, serial) DO NOTHING
            """
        )
        try await db.run(
            """
            DELETE FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND device_number IN (
                SELECT device_number FROM devices
                WHERE application_id = \(user.application) AND user_id = \(user.user)
                ORDER BY seen_at DESC, device_number DESC OFFSET \(limit)
            )
            """
        )
    }

    /// Sets the device's push token; without a platform, the stored platform remains.
    ///
    /// Returns false when the device does not exist, or when it has no platform.
    func set(
        pushToken: String,
        platform: String?,
        session: String,
        _ serial: String,
        of user: User.ID,
        at now: Date
    ) async throws -> Bool {
        try await db.run(
            """
            UPDATE devices
            SET push_token = \(pushToken), platform = coalesce(\(platform), platform), session_id = \(session),
                seen_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
                AND coalesce(\(platform), platform) IS NOT NULL
            """
        ) == 1
    }

    /// Returns false when the device does not exist.
    func set(badge: Int64, _ serial: String, of user: User.ID) async throws -> Bool {
        try await db.run(
            """
            UPDATE devices SET badge = \(badge)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """
        ) == 1
    }

    /// Replaces the device's `meta`, compact JSON; returns false when the device does not exist.
    func set(meta: String?, _ serial: String, of user: User.ID) async throws -> Bool {
        try await db.run(
            """
            UPDATE devices SET meta = \(meta)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """
        ) == 1
    }

    /// Replaces the user's `meta`, compact JSON.
    func set(meta: String?, of user: User.ID) async throws {
        try await db.run(
            """
            UPDATE users SET meta = \(meta)
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """
        )
    }
}

extension Device.Summary {
    /// Nil for the row of a user without a device.
    fileprivate init?(row: PostgresRow) throws {
        guard let number: Int64 = try row.decodeIfPresent("device_number") else { return nil }
        let pushToken = try row.optionalString("push_token")
        self.init(
            id: number,
            serial: try row.string("serial"),
            platform: try row.optionalString("platform"),
            status: pushToken == nil ? .unregistered : .registered,
            pushToken: pushToken,
            meta: try row.optionalString("device_meta").map(JSONValue.init(compact:))
        )
    }
}
