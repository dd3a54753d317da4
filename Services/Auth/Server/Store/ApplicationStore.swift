import AuthAPI
import Credentials
import Foundation
import Postgres
import Wire

/// The tables `applications` and `application_keys`.
struct ApplicationStore {
    let db: any PostgresExecutor

    /// A key as it is kept.
    struct Key: Sendable {
        var publicKey: Data
        var isRevoked: Bool
    }

    /// A place in the list of applications, which is newest first.
    struct Position: Sendable {
        var createdAt: Date
        var id: String
    }

    func insert(id: String, name: String, key: String, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO applications (application_id, name, application_key, created_at)
            VALUES (\(id), \(name), \(key), \(now))
            """
        )
    }

    /// The application's key; nil if there is no such application.
    func applicationKey(of id: String) async throws -> String? {
        try await db.first("SELECT application_key FROM applications WHERE application_id = \(id)") { row in
            try row.string("application_key")
        }
    }

    /// Applications with their keys, newest first.
    func list(after: Position?, limit: Int) async throws -> [CustomerApplication] {
        let found = try await db.all(
            """
            SELECT application_id, name, application_key, created_at
            FROM applications
            WHERE \(after?.createdAt) IS NULL OR (created_at, application_id) < (\(after?.createdAt), \(after?.id))
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

    /// Adds a key, unless `limit` are in use; false if so.
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

    /// Keeps an application as it is until the transaction ends; false if there is none.
    func lock(_ id: String) async throws -> Bool {
        try await db.first("SELECT application_id FROM applications WHERE application_id = \(id) FOR UPDATE") { _ in
            true
        } ?? false
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

    /// Those of these keys that are not revoked.
    func known(_ keys: [ApplicationKey]) async throws -> [KnownApplicationKey] {
        try await db.all(
            """
            SELECT application_keys.application_id, application_keys.key_id, public_key
            FROM unnest(\(keys.map(\.application)), \(keys.map(\.id))) AS asked (application_id, key_id)
            JOIN application_keys ON application_keys.application_id = asked.application_id
                AND application_keys.key_id = asked.key_id
            WHERE revoked_at IS NULL
            """
        ) { row in
            KnownApplicationKey(
                name: "\(try row.string("application_id"))/\(try row.string("key_id"))",
                publicKey: try row.decode("public_key")
            )
        }
    }

    /// Keeps a key from being revoked until the transaction ends; false if it is.
    func hold(key id: String, of application: String) async throws -> Bool {
        try await db.first(
            """
            SELECT key_id FROM application_keys
            WHERE application_id = \(application) AND key_id = \(id) AND revoked_at IS NULL
            FOR SHARE
            """
        ) { _ in true } ?? false
    }

    /// False if there is no such key; that it is revoked already makes no difference.
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
