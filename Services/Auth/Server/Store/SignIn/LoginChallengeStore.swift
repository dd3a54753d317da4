import Foundation
import Postgres

/// The table `login_challenges`.
struct LoginChallengeStore {
    let db: any PostgresExecutor

    /// A sign-in that waits for its second factor.
    struct Record: Sendable {
        var account: UUID
        var device: String?
        /// The evidence that the device has signed in to the account before; nil for a new device.
        var knownDevice: KnownDevice?
    }

    func insert(
        _ hash: Data,
        of account: UUID,
        device: DeviceID?,
        knownDevice: KnownDevice?,
        until expiry: Date
    ) async throws {
        try await db.run(
            """
            INSERT INTO login_challenges (hash, user_id, device_id, known_device, has_device_token, expires_at)
            VALUES (
                \(hash), \(account), \(device?.text), \(knownDevice?.hash), \(knownDevice?.isToken ?? false),
                \(expiry)
            )
            """
        )
    }

    /// Returns nil for a challenge that has expired, was used, or had too many wrong codes.
    func find(_ hash: Data, failuresBelow limit: Int, at now: Date) async throws -> Record? {
        try await db.first(
            """
            SELECT user_id, device_id, known_device, has_device_token
            FROM login_challenges
            WHERE hash = \(hash) AND expires_at > \(now) AND failures < \(limit)
            """
        ) { row in
            let hash = try row.decode("known_device", as: Data?.self)
            let isToken = try row.bool("has_device_token")
            return Record(
                account: try row.uuid("user_id"),
                device: try row.optionalString("device_id"),
                knownDevice: hash.map { isToken ? .token($0) : .network($0) }
            )
        }
    }

    /// Counts an attempt as failed before the code is checked; concurrent attempts wait here for the row lock.
    ///
    /// - Returns: false if the challenge was used or has reached the limit.
    func count(_ hash: Data, failuresBelow limit: Int) async throws -> Bool {
        try await db.run(
            "UPDATE login_challenges SET failures = failures + 1 WHERE hash = \(hash) AND failures < \(limit)"
        ) == 1
    }

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
