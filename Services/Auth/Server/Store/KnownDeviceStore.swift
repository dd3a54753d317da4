import Foundation
import Postgres

/// The table `known_devices`.
struct KnownDeviceStore {
    let db: any PostgresExecutor

    func remember(_ device: Data, of user: UUID, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO known_devices (user_id, device, last_signed_in_at)
            VALUES (\(user), \(device), \(now))
            ON CONFLICT (user_id, device) DO UPDATE SET last_signed_in_at = excluded.last_signed_in_at
            """
        )
    }

    func delete(signedInBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM known_devices WHERE last_signed_in_at <= \(date)")
    }
}
