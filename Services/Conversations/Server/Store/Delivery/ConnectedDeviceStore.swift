import ConversationsAPI
import Foundation
import Postgres
import Wire

/// A device with an open socket.
struct ConnectedDevice: Sendable {
    let user: User.ID
    let device: String
}

extension ConnectedDevice: Hashable {
    static func == (one: Self, other: Self) -> Bool { one.user == other.user && one.device.isExactly(other.device) }

    func hash(into hasher: inout Hasher) { hasher.combine(user) }
}

/// The tables `instances` and `connected_devices`: the devices with an open socket, at all instances.
///
/// A device is connected when it has a row at an instance whose `lease_until` has not passed.
struct ConnectedDeviceStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Renews the instance's lease for `seconds`; when it was not held, the instance may have been removed with all its
    /// devices.
    func renew(_ instance: String, seconds: Double) async throws -> (wasHeld: Bool, isAlone: Bool) {
        try await db.one(
            """
            WITH renewed AS (
                UPDATE instances SET lease_until = clock_timestamp() + make_interval(secs => \(seconds))
                WHERE instance_id = \(instance) AND lease_until > clock_timestamp()
                RETURNING instance_id
            ), begun AS (
                INSERT INTO instances (instance_id, lease_until)
                SELECT \(instance), clock_timestamp() + make_interval(secs => \(seconds))
                WHERE NOT EXISTS (SELECT FROM renewed)
                ON CONFLICT (instance_id) DO UPDATE SET lease_until = EXCLUDED.lease_until
            )
            SELECT EXISTS (SELECT FROM renewed) AS was_held, NOT EXISTS (
                SELECT FROM instances WHERE instance_id <> \(instance) AND lease_until > clock_timestamp()
            ) AS is_alone
            """,
            as: { (try $0.bool("was_held"), try $0.bool("is_alone")) }
        )
    }

    /// Shortens the lease to `seconds`; users whose devices have not reconnected by then are offline.
    func end(_ instance: String, seconds: Double) async throws {
        try await db.run(
            """
            UPDATE instances SET lease_until = least(lease_until, clock_timestamp() + make_interval(secs => \(seconds)))
            WHERE instance_id = \(instance)
            """
        )
    }

    /// Inserts devices; returns the users who had no other device connected to any instance.
    func insert(_ devices: [ConnectedDevice], at instance: String) async throws -> [User.ID] {
        try await db.all(
            """
            WITH arrived AS MATERIALIZED (
                SELECT application_id, user_id, device_id
                FROM unnest(
                    \(devices.map(\.user.application)), \(devices.map(\.user.user)), \(devices.map(\.device))
                ) AS arrived (application_id, user_id, device_id)
            ), written AS (
                INSERT INTO connected_devices (application_id, user_id, device_id, instance_id, connected_at)
                SELECT application_id, user_id, device_id, \(instance), clock_timestamp() FROM arrived
                ORDER BY application_id, user_id, device_id
                ON CONFLICT DO NOTHING
            )
            SELECT DISTINCT arrived.application_id, arrived.user_id FROM arrived
            WHERE NOT EXISTS (
                SELECT FROM connected_devices AS others
                JOIN instances ON instances.instance_id = others.instance_id
                WHERE others.application_id = arrived.application_id AND others.user_id = arrived.user_id
                    AND instances.lease_until > clock_timestamp()
            )
            """,
            as: User.ID.init(row:)
        )
    }

    /// Deletes devices; their users were last seen now.
    func delete(_ devices: [ConnectedDevice], at instance: String) async throws {
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM connected_devices USING unnest(
                    \(devices.map(\.user.application)), \(devices.map(\.user.user)), \(devices.map(\.device))
                ) AS disconnected (application_id, user_id, device_id)
                WHERE connected_devices.application_id = disconnected.application_id
                    AND connected_devices.user_id = disconnected.user_id
                    AND connected_devices.device_id = disconnected.device_id
                    AND connected_devices.instance_id = \(instance)
                RETURNING connected_devices.application_id, connected_devices.user_id
            ), seen AS MATERIALIZED (
                SELECT users.application_id, users.user_id FROM users
                JOIN gone ON gone.application_id = users.application_id AND gone.user_id = users.user_id
                ORDER BY users.application_id, users.user_id FOR NO KEY UPDATE OF users
            )
            UPDATE users SET last_seen_at = date_trunc('milliseconds', clock_timestamp())
            FROM seen WHERE users.application_id = seen.application_id AND users.user_id = seen.user_id
            """
        )
    }

    /// Removes an instance with an expired lease, with its devices; returns the devices' users, or nil when no lease
    /// has expired.
    func removeExpiredInstance() async throws -> [User.ID]? {
        let rows = try await db.execute(
            """
            WITH expired AS (
                DELETE FROM instances WHERE instance_id = (
                    SELECT instance_id FROM instances WHERE lease_until < clock_timestamp()
                    ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED
                )
                RETURNING instance_id, lease_until
            ), gone AS (
                DELETE FROM connected_devices USING expired WHERE connected_devices.instance_id = expired.instance_id
                RETURNING connected_devices.application_id, connected_devices.user_id
            ), seen AS MATERIALIZED (
                SELECT users.application_id, users.user_id FROM users
                WHERE (users.application_id, users.user_id) IN (SELECT application_id, user_id FROM gone)
                ORDER BY users.application_id, users.user_id FOR NO KEY UPDATE
            ), dated AS (
                UPDATE users SET last_seen_at = date_trunc('milliseconds', expired.lease_until)
                FROM seen CROSS JOIN expired
                WHERE users.application_id = seen.application_id AND users.user_id = seen.user_id
            )
            SELECT DISTINCT gone.application_id, gone.user_id FROM expired LEFT JOIN gone ON TRUE
            """
        )
        guard !rows.isEmpty else { return nil }
        return try rows.compactMap { row in
            try row.optionalString("user_id") == nil ? nil : try User.ID(row: row)
        }
    }
}

extension User.ID {
    init(row: PostgresRow) throws {
        self.init(application: try row.string("application_id"), user: try row.string("user_id"))
    }
}
