import Foundation
import Postgres
import ServiceHost

/// The table `push_credentials`.
struct PushCredentialStore {
    let db: any PostgresExecutor

    /// The push provider; the raw value is the name in the database and in JSON.
    enum Provider: String, CaseIterable, Sendable {
        case apns, fcm, vapid
    }

    struct Record: Sendable {
        var application: String
        var provider: Provider
        var ciphertext: TokenEncryptor.EncryptedValue
    }

    func list(of application: String) async throws -> [Record] {
        try await db.all(
            """
            SELECT application_id, provider, ciphertext, encryption_key_id
            FROM push_credentials
            WHERE application_id = \(application)
            """,
            as: Record.init(row:)
        )
    }

    func set(_ record: Record, at now: Date) async throws {
        try await db.run(
            """
            INSERT INTO push_credentials (application_id, provider, ciphertext, encryption_key_id, changed_at)
            VALUES (
                \(record.application), \(record.provider.rawValue), \(record.ciphertext.box),
                \(record.ciphertext.keyID), \(now)
            )
            ON CONFLICT (application_id, provider) DO UPDATE
            SET ciphertext = EXCLUDED.ciphertext, encryption_key_id = EXCLUDED.encryption_key_id,
                changed_at = EXCLUDED.changed_at
            """
        )
    }

    func delete(_ provider: Provider, of application: String) async throws {
        try await db.run(
            """
            DELETE FROM push_credentials
            WHERE application_id = \(application) AND provider = \(provider.rawValue)
            """
        )
    }
}

extension PushCredentialStore.Record {
    fileprivate init(row: PostgresRow) throws {
        let name = try row.string("provider")
        guard let provider = PushCredentialStore.Provider(rawValue: name) else {
            throw PushSetups.Failure.unknownProvider(name)
        }
        self.init(
            application: try row.string("application_id"),
            provider: provider,
            ciphertext: TokenEncryptor.EncryptedValue(
                box: try row.decode("ciphertext"),
                keyID: try row.string("encryption_key_id")
            )
        )
    }
}
