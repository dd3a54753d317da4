import Foundation
import Postgres

/// The table `login_challenges`.
struct LoginChallengeStore {
    let db: any PostgresExecutor

    /// A sign-in that waits for its second factor.
    struct Record: Sendable {
        var account: UUID
        var device: String?
        /// Whether the device has signed in to the account before.
        var isDeviceKnown: Bool
    }

    func insert(_ hash: Data, of account: UUID, device: DeviceID?, until expiry: Date) async throws {
        try await db.run(
            """
            INSERT INTO login_challenges (hash, user_id, device_id, expires_at)
            VALUES (\(hash), \(account), \(device?.text), \(expiry))
            """
        )
    }

    /// Nil for one that is too old, was used, or had too many wrong codes.
    func find(_ hash: Data, failuresBelow limit: Int, at now: Date) async throws -> Record? {
        try await db.first(
            """
            SELECT challenge.user_id, challenge.device_id, EXISTS (
                SELECT FROM known_devices
                WHERE known_devices.user_id = challenge.user_id
                    AND known_devices.device = sha256(convert_to(challenge.device_id, 'UTF8'))
            ) AS is_device_known
            FROM login_challenges AS challenge
            WHERE hash = \(hash) AND expires_at > \(now) AND failures < \(limit)
            """
        ) { row in
            Record(
                account: try row.uuid("user_id"),
                device: try row.optionalString("device_id"),
                isDeviceKnown: try row.bool("is_device_known")
            )
        }
    }

    /// Counts a code as a wrong one until it is known better; who tries at the same time waits here.
    ///
    /// - Returns: false where it had enough of them, or was used.
    func count(_ hash: Data, failuresBelow limit: Int) async throws -> Bool {
        try await db.run(
            "UPDATE login_challenges SET failures = failures + 1 WHERE hash = \(hash) AND failures < \(limit)"
        ) == 1
    }

    /// Uses it up.
    func delete(_ hash: Data) async throws {
        try await db.run("DELETE FROM login_challenges WHERE hash = \(hash)")
    }

    func delete(of account: UUID) async throws {
        try await db.run("DELETE FROM login_challenges WHERE user_id = \(account)")
    }

    func delete(expiredBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM login_challenges WHERE expires_at <= \(date)")
    }
}
