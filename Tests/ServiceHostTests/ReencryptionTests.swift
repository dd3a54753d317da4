import Foundation
import Logging
import Postgres
import ServiceHost
import TestSupport
import Testing

@Suite("Re-encryption") struct ReencryptionTests {
    private static let (old, new, lost) = (key(1), key(2), key(3))
    private static let column = Reencryption.Column(
        "secrets",
        value: "value",
        keyID: "key_id",
        columns: ["name"]
    ) { columns in
        columns[0] == "orphan" ? nil : columns[0]
    }

    private static func key(_ byte: UInt8) -> String { Data(repeating: byte, count: 32).base64EncodedString() }

    /// Re-encrypts `rows`, each of which was encrypted with a key for an owner.
    ///
    /// - Returns: the report, and the names of the rows that the new key alone decrypts.
    private func reencrypt(
        _ rows: [(name: String, key: String, owner: String)]
    ) async throws -> (report: Reencryption.Report, decrypted: [String]) {
        let table = "CREATE TABLE secrets (name text PRIMARY KEY, value bytea NOT NULL, key_id text NOT NULL)"
        let migrations = [Migration(name: "V9000_secrets", sql: Array(table.utf8))]
        return try await TestDatabase.with(migrations: migrations) { database in
            for row in rows {
                let sealed = try TokenEncryptor(keys: row.key).seal(Data("secret".utf8), for: row.owner)
                try await database.pool.run(
                    "INSERT INTO secrets (name, value, key_id) VALUES (\(row.name), \(sealed.box), \(sealed.keyID))"
                )
            }
            let report = try await Reencryption(
                [Self.column],
                database: database.pool,
                encryptor: try TokenEncryptor(keys: "\(Self.new),\(Self.old)"),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ).run()
            let onlyNew = try TokenEncryptor(keys: Self.new)
            let decrypted = try await database.pool.all("SELECT name, value, key_id FROM secrets ORDER BY name") {
                row in
                let sealed = TokenEncryptor.EncryptedValue(
                    box: try row.decode("value"),
                    keyID: try row.string("key_id")
                )
                let name = try row.string("name")
                return (try? onlyNew.open(sealed, for: name)) == Data("secret".utf8) ? name : nil
            }
            return (report, decrypted.compactMap { $0 })
        }
    }

    @Test("Values of a former key are encrypted with the current key, in more than one batch")
    func batches() async throws {
        let names = (1_000..<1_250).map { "\($0)" }
        let (report, decrypted) = try await reencrypt(names.map { ($0, Self.old, $0) })
        #expect(report == Reencryption.Report(encrypted: 250, unreadable: 0))
        #expect(decrypted == names)
    }

    @Test("Values that cannot be decrypted do not stop the others")
    func unreadable() async throws {
        let (report, decrypted) = try await reencrypt([
            ("a", Self.old, "a"), ("b", Self.old, "copied from another row"), ("c", Self.lost, "c"),
            ("d", Self.old, "d"), ("e", Self.new, "e"), ("orphan", Self.old, "orphan"),
        ])
        #expect(report == Reencryption.Report(encrypted: 2, unreadable: 3))
        #expect(decrypted == ["a", "d", "e"])
    }
}
