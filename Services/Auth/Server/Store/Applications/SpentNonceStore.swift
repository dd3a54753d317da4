import Foundation
import Postgres

/// The table `spent_nonces`.
struct SpentNonceStore {
    let db: any PostgresExecutor

    /// False if it was spent before.
    ///
    /// Who spends the same one at the same time waits here until the other's transaction has ended.
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
