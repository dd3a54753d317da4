import Foundation
import Postgres
import ServiceHost

/// The table `signing_keys`.
struct SigningKeyStore {
    let db: any PostgresExecutor

    enum State: String, Sendable {
        /// Already published, so that every verifier has the key before it signs.
        case standby
        case current
        /// Only verifies tokens that it signed.
        case previous
    }

    struct Record: Sendable {
        var kid: String
        var state: State
        /// In X9.63 format.
        var publicKey: Data
        var encryptedPrivateKey: TokenEncryptor.EncryptedValue
    }

    /// Prevents changes of the keys by other instances until the transaction ends.
    func lock() async throws {
        try await db.run("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE")
    }

    /// Returns all keys, newest first.
    func list() async throws -> [Record] {
        try await db.all(
            """
            SELECT kid, state, public_key, encrypted_private_key, encryption_key_id
            FROM signing_keys
            ORDER BY created_at DESC, kid
            """,
            as: Record.init(row:)
        )
    }

    func insert(_ key: Record, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO signing_keys (kid, state, public_key, encrypted_private_key, encryption_key_id, created_at)
            VALUES (
                \(key.kid), \(key.state.rawValue), \(key.publicKey),
                \(key.encryptedPrivateKey.box), \(key.encryptedPrivateKey.keyID), \(now)
            )
            """
        )
    }

    func retireCurrent(at now: Date) async throws {
        try await db.run(
            "UPDATE signing_keys SET state = 'previous', retired_at = \(now) WHERE state = 'current'"
        )
    }

    func promoteStandby() async throws {
        try await db.run("UPDATE signing_keys SET state = 'current' WHERE state = 'standby'")
    }

    func delete(retiredBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM signing_keys WHERE retired_at < \(date)")
    }
}

extension SigningKeyStore.Record {
    fileprivate init(row: PostgresRow) throws {
        let name = try row.string("state")
        guard let state = SigningKeyStore.State(rawValue: name) else { throw SigningKeys.Failure.unknownState(name) }
        self.init(
            kid: try row.string("kid"),
            state: state,
            publicKey: try row.decode("public_key"),
            encryptedPrivateKey: TokenEncryptor.EncryptedValue(
                box: try row.decode("encrypted_private_key"),
                keyID: try row.string("encryption_key_id")
            )
        )
    }
}
