import Foundation
import Postgres

/// The table `known_devices`.
struct KnownDeviceStore {
    let db: any PostgresExecutor

    /// Stores the hashes that identify a device, and deletes all but the newest `maximum` of the account.
    func record(_ devices: [Data], of user: UUID, at now: Date, maximum: Int) async throws {
        try await db.run(
            """
            INSERT INTO known_devices (user_id, device, last_signed_in_at)
            SELECT \(user), device, \(now) FROM unnest(\(devices)) AS devices (device) ORDER BY device
            ON CONFLICT (user_id, device) DO UPDATE SET last_signed_in_at = excluded.last_signed_in_at
            """
        )
        try await db.run(
            """
            DELETE FROM known_devices
            WHERE user_id = \(user) AND device IN (
                SELECT device FROM known_devices
                WHERE user_id = \(user)
                ORDER BY last_signed_in_at DESC, device
                OFFSET \(maximum)
            )
            """
        )
    }

    func contains(_ device: Data, of user: UUID) async throws -> Bool {
        try await db.first("SELECT user_id FROM known_devices WHERE user_id = \(user) AND device = \(device)") { _ in
            true
        } ?? false
    }

    func delete(of user: UUID) async throws {
        try await db.run("DELETE FROM known_devices WHERE user_id = \(user)")
    }

    func delete(signedInBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM known_devices WHERE last_signed_in_at <= \(date)")
    }
}
