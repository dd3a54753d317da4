import Postgres
import Wire

/// The table `device_owners`: the users that push published as owners of a device by `devices.changed`.
struct DeviceOwnerStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Adds a user; returns false if the table has the user.
    func insert(_ user: User.ID) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO device_owners (application_id, user_id) VALUES (\(user.application), \(user.user))
            ON CONFLICT ON CONSTRAINT device_owners_pkey DO NOTHING
            """
        ) == 1
    }

    func insertMissing(limit: Int) async throws -> [User.ID] {
        try await db.all(
            """
            INSERT INTO device_owners (application_id, user_id)
            SELECT DISTINCT devices.application_id, devices.user_id FROM devices
            WHERE devices.disabled_reason IS NULL
                AND NOT EXISTS (
                    SELECT FROM device_owners AS owners
                    WHERE owners.application_id = devices.application_id AND owners.user_id = devices.user_id
                )
            LIMIT \(limit)
            ON CONFLICT ON CONSTRAINT device_owners_pkey DO NOTHING
            RETURNING application_id, user_id
            """,
            as: Self.user
        )
    }

    func deleteStale(limit: Int) async throws -> [User.ID] {
        try await db.all(
            """
            DELETE FROM device_owners WHERE (application_id, user_id) IN (
                SELECT owners.application_id, owners.user_id FROM device_owners AS owners
                WHERE NOT EXISTS (
                    SELECT FROM devices
                    WHERE devices.application_id = owners.application_id AND devices.user_id = owners.user_id
                        AND devices.disabled_reason IS NULL
                )
                LIMIT \(limit)
            )
            RETURNING application_id, user_id
            """,
            as: Self.user
        )
    }

    func delete(_ user: User.ID) async throws {
        try await db.run(
            "DELETE FROM device_owners WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }

    private static func user(_ row: PostgresRow) throws -> User.ID {
        User.ID(application: try row.string("application_id"), user: try row.string("user_id"))
    }
}
