import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `devices`, and what users say about themselves.
struct DeviceStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Somebody with all his devices, the oldest first; nil for whom nobody has heard of.
    func owner(_ user: User.ID) async throws -> Device.Owner? {
        let rows = try await db.execute(
            """
            SELECT users.user_number, users.meta, devices.device_number, devices.serial, devices.platform,
                   devices.push_token IS NOT NULL AS has_token
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

    /// It was seen again.
    func note(_ serial: String, of user: User.ID, seenAt now: Date) async throws {
        try await db.run(
            """
            UPDATE devices SET seen_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """
        )
    }

    /// Whether it was not seen since `date`.
    func isStale(_ serial: String, of user: User.ID, since date: Date) async throws -> Bool {
        try await db.first(
            """
            SELECT seen_at < \(date) AS is_stale FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """,
            as: { try $0.bool("is_stale") }
        ) ?? false
    }

    /// Adds a device; those that were seen longest ago go where there are more than `limit`.
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

    /// Where the device is notified from now on; the platform stays where none is named.
    ///
    /// False: there is no such device, or no platform is known.
    func set(
        pushToken: String,
        platform: String?,
        _ serial: String,
        of user: User.ID,
        at now: Date
    ) async throws -> Bool {
        try await db.run(
            """
            UPDATE devices
            SET push_token = \(pushToken), platform = coalesce(\(platform), platform), seen_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
                AND coalesce(\(platform), platform) IS NOT NULL
            """
        ) == 1
    }

    /// False: there is no such device.
    func set(badge: Int64, _ serial: String, of user: User.ID) async throws -> Bool {
        try await db.run(
            """
            UPDATE devices SET badge = \(badge)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND serial = \(serial)
            """
        ) == 1
    }

    /// Compact JSON; replaced whole.
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
    /// Nil for the row of somebody without a device.
    fileprivate init?(row: PostgresRow) throws {
        guard let number: Int64 = try row.decodeIfPresent("device_number") else { return nil }
        self.init(
            id: number,
            serial: try row.string("serial"),
            platform: try row.optionalString("platform"),
            status: try row.bool("has_token") ? .registered : .unregistered
        )
    }
}
