import Foundation
import Postgres
import ServiceHost

/// The table `consents`.
struct ConsentStore {
    let db: any PostgresExecutor

    /// A pending sign-in at a provider, before or after the callback.
    struct Record: Sendable {
        var stateHash: Data
        var provider: String
        var redirectURL: String
        var codeChallenge: String
        var ciphertext: TokenEncryptor.EncryptedValue
        var endsAt: Date
    }

    func insert(_ record: Record) async throws {
        try await db.run(
            """
            INSERT INTO consents (
                state_hash, provider, redirect_url, code_challenge, ciphertext, encryption_key_id, ends_at
            )
            VALUES (
                \(record.stateHash), \(record.provider), \(record.redirectURL), \(record.codeChallenge),
                \(record.ciphertext.box), \(record.ciphertext.keyID), \(record.endsAt)
            )
            """
        )
    }

    /// Returns the sign-in that waits for the provider's callback.
    func findPending(_ stateHash: Data, at provider: String, now: Date) async throws -> Record? {
        try await db.first(
            """
            SELECT state_hash, provider, redirect_url, code_challenge, ciphertext, encryption_key_id, ends_at
            FROM consents
            WHERE state_hash = \(stateHash) AND provider = \(provider) AND ends_at > \(now) AND code_hash IS NULL
            """,
            as: Record.init(row:)
        )
    }

    /// Stores the result of the callback; returns false if a result is already stored.
    func complete(_ ciphertext: TokenEncryptor.EncryptedValue, codeHash: Data, of stateHash: Data) async throws -> Bool
    {
        try await db.run(
            """
            UPDATE consents
            SET code_hash = \(codeHash), ciphertext = \(ciphertext.box), encryption_key_id = \(ciphertext.keyID)
            WHERE state_hash = \(stateHash) AND code_hash IS NULL
            """
        ) == 1
    }

    /// Deletes and returns the sign-in of a code, if the PKCE challenge matches.
    ///
    /// A code is valid once.
    func consume(codeHash: Data, at provider: String, codeChallenge: String, now: Date) async throws -> Record? {
        try await db.first(
            """
            DELETE FROM consents
            WHERE code_hash = \(codeHash) AND provider = \(provider) AND code_challenge = \(codeChallenge)
                AND ends_at > \(now)
            RETURNING state_hash, provider, redirect_url, code_challenge, ciphertext, encryption_key_id, ends_at
            """,
            as: Record.init(row:)
        )
    }

    func delete(_ stateHash: Data) async throws {
        try await db.run("DELETE FROM consents WHERE state_hash = \(stateHash)")
    }

    func delete(endedBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM consents WHERE ends_at <= \(date)")
    }
}

extension ConsentStore.Record {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            stateHash: try row.decode("state_hash"),
            provider: try row.string("provider"),
            redirectURL: try row.string("redirect_url"),
            codeChallenge: try row.string("code_challenge"),
            ciphertext: TokenEncryptor.EncryptedValue(
                box: try row.decode("ciphertext"),
                keyID: try row.string("encryption_key_id")
            ),
            endsAt: try row.date("ends_at")
        )
    }
}
