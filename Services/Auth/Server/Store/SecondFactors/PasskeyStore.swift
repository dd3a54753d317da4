import AuthAPI
import Foundation
import Postgres
import WebAuthn
import Wire

/// The table `passkeys`.
struct PasskeyStore {
    let db: any PostgresExecutor

    struct Record: Sendable {
        var id: UUID
        var account: UUID
        var credential: RelyingParty.NewCredential
        var name: String
    }

    /// The stored credential of a passkey that signs in.
    struct StoredCredential: Sendable {
        var account: UUID
        var publicKey: Data
        var signCount: UInt32
    }

    /// - Throws: `passkey_exists`, a 409, if the credential id is already stored; an authenticator never issues an id
    ///   twice.
    func insert(_ passkey: Record, at now: Date) async throws {
        let credential = passkey.credential
        do {
            try await db.run(
                """
                INSERT INTO passkeys (
                    credential_id, passkey_id, user_id, public_key, sign_count, name, transports, is_backup_eligible,
                    is_backed_up, created_at
                )
                VALUES (
                    \(credential.id), \(passkey.id), \(passkey.account), \(credential.publicKey),
                    \(Int64(credential.signCount)), \(passkey.name), \(credential.transports),
                    \(credential.isBackupEligible), \(credential.isBackedUp), \(now)
                )
                """
            )
        } catch let error as PostgresError where error.violates("passkeys_pkey") {
            throw APIError(.conflict, "passkey_exists", "this passkey is already registered")
        }
    }

    /// Returns an account's passkeys, newest first, without pages: there are never many.
    func list(of account: UUID) async throws -> [Passkey] {
        try await db.all(
            """
            SELECT passkey_id, name, is_backed_up, created_at, last_used_at
            FROM passkeys
            WHERE user_id = \(account)
            ORDER BY created_at DESC, passkey_id
            """,
            as: Passkey.init(row:)
        )
    }

    func descriptors(of account: UUID) async throws -> [PasskeyDescriptor] {
        try await db.all("SELECT credential_id, transports FROM passkeys WHERE user_id = \(account)") { row in
            PasskeyDescriptor(
                id: Base64URL.encode(try row.bytes("credential_id")),
                transports: try row.decode("transports", as: [String].self)
            )
        }
    }

    /// Locks a passkey until the transaction ends, so that two concurrent sign-ins are counted one after the other.
    func lock(_ credential: Data) async throws -> StoredCredential? {
        try await db.first(
            "SELECT user_id, public_key, sign_count FROM passkeys WHERE credential_id = \(credential) FOR UPDATE"
        ) { row in
            StoredCredential(
                account: try row.uuid("user_id"),
                publicKey: try row.decode("public_key"),
                signCount: UInt32(clamping: try row.int64("sign_count"))
            )
        }
    }

    func use(_ credential: Data, signCount: UInt32, isBackedUp: Bool, at now: Date) async throws {
        try await db.run(
            """
            UPDATE passkeys
            SET sign_count = \(Int64(signCount)), is_backed_up = \(isBackedUp), last_used_at = \(now)
            WHERE credential_id = \(credential)
            """
        )
    }

    func delete(of account: UUID) async throws -> Int {
        try await db.run("DELETE FROM passkeys WHERE user_id = \(account)")
    }

    /// Deletes a passkey and returns its name; nil if the account has no such passkey.
    func delete(_ id: UUID, of account: UUID) async throws -> String? {
        try await db.first(
            "DELETE FROM passkeys WHERE passkey_id = \(id) AND user_id = \(account) RETURNING name"
        ) { try $0.string("name") }
    }
}

extension Passkey {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.uuid("passkey_id").wire,
            name: try row.string("name"),
            backedUp: try row.bool("is_backed_up"),
            createdAt: try row.date("created_at"),
            lastUsedAt: try row.optionalDate("last_used_at")
        )
    }
}
