import ConversationsAPI
import Foundation
import Postgres
import enum PushAPI.DevicePlatform
import struct PushAPI.DeviceChanged
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

    /// The time when a device was last seen, and the session that signed in on it last.
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

    /// Applies the push registration of a session's sign-in, unless the session has already applied one or push has
    /// published an event of the session: what happened to the device since then stays.
    ///
    /// A session without a token ends the registration of the device's previous session, as it does in push. It does not
    /// end a registration that another device's session made for this one in push.
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
            SET (push_token, platform, awaits_push) = (
                    SELECT push_token, platform, false
                    WHERE push_session_id = \(session)
                    UNION ALL
                    SELECT CASE WHEN \(pushToken)::text IS NULL AND NOT awaits_push
                               AND push_session_id IS DISTINCT FROM session_id
                           THEN push_token ELSE \(pushToken)::text END,
                           coalesce(\(platform), platform), \(pushToken)::text IS NOT NULL
                    WHERE push_session_id IS DISTINCT FROM \(session)
                ),
                session_id = \(session)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
                AND session_id IS DISTINCT FROM \(session)
            """
        )
    }

    /// Applies an event of push, the owner of the registrations, to a stored device.
    ///
    /// A registration that the device has stated here stays until push's event about it arrives: that has the same session,
    /// and the same token or none. Push responds to every statement, so an event that is not applied is followed by one that
    /// is.
    func apply(_ changed: DeviceChanged) async throws {
        try await db.run(
            """
            UPDATE devices
            SET push_token = \(changed.pushToken), platform = coalesce(\(changed.platform), nullif(platform, 'web')),
                push_session_id = \(changed.sessionId), awaits_push = false
            WHERE application_id = \(changed.applicationId) AND user_id = \(changed.userId)
                AND serial = \(changed.deviceId)
                AND (
                    NOT awaits_push
                    OR session_id = \(changed.sessionId)
                        AND (\(changed.pushToken)::text IS NULL OR push_token = \(changed.pushToken))
                )
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

    /// Returns the platform of the device's last push registration.
    func platform(_ serial: String, of user: User.ID) async throws -> String? {
        try await db.first(
            """
            SELECT platform FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """,
            as: { try $0.optionalString("platform") }
        ) ?? nil
    }

    /// Sets the push registration that the device states, until push responds; returns false when the device does not
    /// exist.
    func set(
        pushToken: String,
        platform: String,
        session: String,
        _ serial: String,
        of user: User.ID,
        at now: Date
    ) async throws -> Bool {
        try await db.run(
            """
            UPDATE devices
            SET push_token = \(pushToken), platform = \(platform), session_id = \(session), awaits_push = true,
                seen_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
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
        let (pushToken, platform) = (try row.optionalString("push_token"), try row.optionalString("platform"))
        // The platform of a browser is stored only while the browser is registered.
        let isRegistered = pushToken != nil || platform == DevicePlatform.web.rawValue
        self.init(
            id: number,
            serial: try row.string("serial"),
            platform: platform,
            status: isRegistered ? .registered : .unregistered,
            pushToken: pushToken,
            meta: try row.optionalString("device_meta").map(JSONValue.init(compact:))
        )
    }
}
