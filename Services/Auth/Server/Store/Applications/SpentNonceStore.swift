import Foundation
import Postgres

/// The table `spent_nonces`.
struct SpentNonceStore {
    let db: any PostgresExecutor

    /// Records a nonce as used; returns false if it was already used.
    ///
    /// A concurrent transaction with the same nonce waits here until this one ends.
    func insert(_ hash: Data, of application: String, until expiry: Date) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO spent_nonces (application_id, hash, expires_at)
            VALUES (\(application), \(hash), \(expiry))
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    func delete(expiredBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM spent_nonces WHERE expires_at < \(date)")
    }
}
