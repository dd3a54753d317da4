import AuthAPI
import Credentials
import Foundation
import Postgres
import ServiceHost
import Wire

/// The tables `applications` and `application_keys`.
struct ApplicationStore {
    let db: any PostgresExecutor

    struct Key: Sendable {
        var publicKey: Data
        var isRevoked: Bool
    }

    /// A position in the list of applications, which is newest first.
    struct Position: Sendable {
        var createdAt: Date
        var id: String
    }

    struct Ownership: Sendable {
        var owner: UUID?
        var isDeleted: Bool
    }

    func insert(id: String, name: String, key: String, owner: UUID?, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO applications (application_id, name, application_key, owner_id, created_at)
            VALUES (\(id), \(name), \(key), \(owner), \(now))
            """
        )
    }

    /// Returns nil if the application does not exist.
    ///
    /// An application that is being deleted keeps its row until the end.
    func ownership(of id: String) async throws -> Ownership? {
        try await db.first(
            "SELECT owner_id, deleted_at IS NOT NULL AS is_deleted FROM applications WHERE application_id = \(id)"
        ) { row in Ownership(owner: try row.decodeIfPresent("owner_id"), isDeleted: try row.bool("is_deleted")) }
    }

    /// Returns the application's key; nil if the application does not exist or is being deleted.
    func applicationKey(of id: String) async throws -> String? {
        try await db.first(
            "SELECT application_key FROM applications WHERE application_id = \(id) AND deleted_at IS NULL"
        ) { row in try row.string("application_key") }
    }

    func count(of owner: UUID) async throws -> Int {
        try await db.one(
            "SELECT count(*) AS count FROM applications WHERE owner_id = \(owner) AND deleted_at IS NULL"
        ) { try $0.int("count") }
    }

    func find(_ id: String) async throws -> CustomerApplication? {
        let found = try await db.first(
            """
            SELECT application_id, name, application_key, owner_id, created_at
            FROM applications
            WHERE application_id = \(id) AND deleted_at IS NULL
            """,
            as: CustomerApplication.init(row:)
        )
        guard var found else { return nil }
        found.keys = try await keys(of: [id])[id] ?? []
        return found
    }

    /// Returns applications with their keys, newest first: all of them, or those of one owner.
    func list(of owner: UUID?, after: Position?, limit: Int) async throws -> [CustomerApplication] {
        let found = try await db.all(
            """
            SELECT application_id, name, application_key, owner_id, created_at
            FROM applications
            WHERE deleted_at IS NULL AND (\(owner) IS NULL OR owner_id = \(owner))
                AND (\(after?.createdAt) IS NULL
                    OR (created_at, application_id) < (\(after?.createdAt), \(after?.id)))
            ORDER BY created_at DESC, application_id DESC
            LIMIT \(limit)
            """,
            as: CustomerApplication.init(row:)
        )
        let keys = try await keys(of: found.map(\.applicationId))
        return found.map { application in
            var application = application
            application.keys = keys[application.applicationId] ?? []
            return application
        }
    }

    /// Returns false if the application does not exist.
    func rename(_ id: String, to name: String) async throws -> Bool {
        try await db.run(
            "UPDATE applications SET name = \(name) WHERE application_id = \(id) AND deleted_at IS NULL"
        ) == 1
    }

    // MARK: Deletion

    /// Returns false if the application does not exist or its deletion has already started.
    func beginDeletion(of id: String, at now: Date) async throws -> Bool {
        try await db.run(
            "UPDATE applications SET deleted_at = \(now) WHERE application_id = \(id) AND deleted_at IS NULL"
        ) == 1
    }

    /// Revokes all keys of an application, and returns those that were active.
    func revokeAllKeys(of id: String, at now: Date) async throws -> [String] {
        try await db.all(
            """
            UPDATE application_keys SET revoked_at = \(now)
            WHERE application_id = \(id) AND revoked_at IS NULL
            RETURNING key_id
            """
        ) { try $0.string("key_id") }
    }

    /// Returns the first application after `id`, in the order of ids, whose deletion has started and is due.
    func nextDeleted(after id: String, at now: Date) async throws -> String? {
        try await db.first(
            """
            SELECT application_id FROM applications
            WHERE deleted_at IS NOT NULL AND application_id > \(id) AND \(isDue: .deletedApplication, at: now)
            ORDER BY application_id
            LIMIT 1
            """
        ) { try $0.string("application_id") }
    }

    /// Deletes an application's keys and its row; all rows that reference them must be deleted before.
    func delete(_ id: String) async throws {
        try await db.run("DELETE FROM application_keys WHERE application_id = \(id)")
        try await db.run("DELETE FROM applications WHERE application_id = \(id) AND deleted_at IS NOT NULL")
    }

    func keys(of application: String) async throws -> [EncryptionKey] {
        try await keys(of: [application])[application] ?? []
    }

    private func keys(of applications: [String]) async throws -> [String: [EncryptionKey]] {
        let keys = try await db.all(
            """
            SELECT application_id, key_id, created_at, revoked_at
            FROM application_keys
            WHERE application_id = ANY(\(applications))
            ORDER BY created_at DESC, key_id
            """
        ) { row in (application: try row.string("application_id"), key: try EncryptionKey(row: row)) }
        return Dictionary(grouping: keys, by: \.application).mapValues { $0.map(\.key) }
    }

    // MARK: Keys

    /// Adds a key; returns false if the application already has `limit` active keys.
    func insert(
        key id: String,
        _ publicKey: Data,
        to application: String,
        limit: Int,
        at now: Date
    ) async throws
        -> Bool
    {
        try await db.run(
            """
            INSERT INTO application_keys (application_id, key_id, public_key, created_at)
            SELECT \(application), \(id), \(publicKey), \(now)
            WHERE (
                SELECT count(*) FROM application_keys
                WHERE application_id = \(application) AND revoked_at IS NULL
            ) < \(limit)
            """
        ) == 1
    }

    /// Deletes the oldest revoked keys beyond `limit`, so that repeated replacement does not fill the table.
    func deleteRevokedKeys(of application: String, keeping limit: Int) async throws {
        try await db.run(
            """
            DELETE FROM application_keys
            WHERE application_id = \(application) AND key_id IN (
                SELECT key_id FROM application_keys
                WHERE application_id = \(application) AND revoked_at IS NOT NULL
                ORDER BY revoked_at DESC, key_id
                OFFSET \(limit)
            )
            """
        )
    }

    /// Locks an application until the transaction ends; returns false if it does not exist.
    ///
    /// Sign-ins, whose rows reference the application, do not wait for this lock.
    func lock(_ id: String) async throws -> Bool {
        try await db.first(
            """
            SELECT application_id FROM applications
            WHERE application_id = \(id) AND deleted_at IS NULL FOR NO KEY UPDATE
            """
        ) { _ in true } ?? false
    }

    func key(_ id: String, of application: String) async throws -> Key? {
        try await db.first(
            """
            SELECT public_key, revoked_at IS NOT NULL AS is_revoked
            FROM application_keys
            WHERE application_id = \(application) AND key_id = \(id)
            """
        ) { row in Key(publicKey: try row.decode("public_key"), isRevoked: try row.bool("is_revoked")) }
    }

    /// Returns those of the keys that are not revoked.
    func activeKeys(_ keys: [ApplicationKey]) async throws -> [KnownApplicationKey] {
        try await db.all(
            """
            SELECT application_keys.application_id, application_keys.key_id, public_key
            FROM unnest(\(keys.map(\.application)), \(keys.map(\.id))) AS requested (application_id, key_id)
            JOIN application_keys ON application_keys.application_id = requested.application_id
                AND application_keys.key_id = requested.key_id
            WHERE revoked_at IS NULL
            """
        ) { row in
            KnownApplicationKey(
                name: "\(try row.string("application_id"))/\(try row.string("key_id"))",
                publicKey: try row.decode("public_key")
            )
        }
    }

    /// Holds a key with a shared lock against revocation until the transaction ends; returns false if it is already
    /// revoked.
    func lockShared(key id: String, of application: String) async throws -> Bool {
        try await db.first(
            """
            SELECT key_id FROM application_keys
            WHERE application_id = \(application) AND key_id = \(id) AND revoked_at IS NULL
            FOR SHARE
            """
        ) { _ in true } ?? false
    }

    /// Returns false if the key does not exist; true also for a key that is already revoked.
    func revoke(key id: String, of application: String, at now: Date) async throws -> Bool {
        try await db.run(
            """
            UPDATE application_keys SET revoked_at = COALESCE(revoked_at, \(now))
            WHERE application_id = \(application) AND key_id = \(id)
            """
        ) == 1
    }
}

extension CustomerApplication {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            applicationId: try row.string("application_id"),
            name: try row.string("name"),
            applicationKey: try row.string("application_key"),
            owner: try row.decodeIfPresent("owner_id", as: UUID.self)?.wire,
            createdAt: try row.date("created_at"),
            keys: []
        )
    }
}

extension EncryptionKey {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            encryptionKeyId: try row.string("key_id"),
            createdAt: try row.date("created_at"),
            revokedAt: try row.optionalDate("revoked_at")
        )
    }
}

extension SetAsideKind {
    /// A deleted application whose sessions and users must still be deleted.
    static let deletedApplication = SetAsideKind(
        "deleted_application",
        table: "applications",
        key: ["application_id": "text"],
        dropping: .keep
    )
}
