import Foundation
package import Logging
package import Postgres
package import ServiceLifecycle

/// The re-encryption of stored values with the current key of a ``TokenEncryptor``, so that the operator can remove an
/// earlier key.
///
/// A value that cannot be decrypted stays unchanged and does not block others.
package struct Reencryption: Sendable {
    /// A column of encrypted values, and the column with the ids of their keys.
    package struct Column: Sendable {
        let table: String
        let value: String
        let keyID: String
        /// The columns that identify a row; `owner` receives their text.
        let columns: [String]
        let owner: @Sendable ([String]) -> String?

        /// Creates a column.
        ///
        /// - Parameters:
        ///   - table: the table's name.
        ///   - value: the name of the column with the encrypted value.
        ///   - keyID: the name of the column with the key's id.
        ///   - columns: the names of columns that together identify a row.
        ///   - owner: returns the owner that a value was encrypted for, given the text of `columns`; nil if the owner
        ///     is unknown, so that the value cannot be decrypted.
        package init(
            _ table: String,
            value: String,
            keyID: String,
            columns: [String],
            owner: @escaping @Sendable ([String]) -> String?
        ) {
            self.table = table
            self.value = value
            self.keyID = keyID
            self.columns = columns
            self.owner = owner
        }
    }

    /// The number of values that were encrypted with the current key, and of those that cannot be decrypted.
    package struct Report: Hashable, Sendable {
        package var encrypted: Int
        package var unreadable: Int

        package init(encrypted: Int = 0, unreadable: Int = 0) {
            self.encrypted = encrypted
            self.unreadable = unreadable
        }
    }

    /// The number of rows in one transaction.
    private static let batch = 100
    /// The number of failures with one key after which a run stops; the next run continues.
    private static let maximumFailures = 1_000

    private let columns: [Column]
    private let database: PostgresPool
    private let encryptor: TokenEncryptor
    private let logger: Logger

    package init(_ columns: [Column], database: PostgresPool, encryptor: TokenEncryptor, logger: Logger) {
        self.columns = columns
        self.database = database
        self.encryptor = encryptor
        self.logger = logger
    }

    /// The periodic run, every minute on each instance; instances may run concurrently.
    package var background: any Service {
        PeriodicTask("re-encryption", every: .seconds(60), logger: logger) { _ = try await run() }
    }

    /// Encrypts all values that use an earlier key.
    ///
    /// - Returns: the numbers of encrypted and of unreadable values.
    /// - Throws: a `PostgresError`; values that were encrypted before stay so.
    package func run() async throws -> Report {
        var report = Report()
        for column in columns {
            var last = ""
            while let keyID = try await keyID(after: last, in: column) {
                last = keyID
                guard keyID != encryptor.currentKeyID else { continue }
                let found = try await encrypt(column, of: keyID)
                report.encrypted += found.encrypted
                report.unreadable += found.unreadable
                guard found.unreadable > 0 else { continue }
                logger.error(
                    "stored values cannot be decrypted",
                    metadata: ["table": "\(column.table)", "key": "\(keyID)", "values": "\(found.unreadable)"]
                )
            }
        }
        return report
    }

    /// Returns the next key id in use; the query needs a few index lookups, independent of the number of rows.
    private func keyID(after last: String, in column: Column) async throws -> String? {
        try await database.one(
            """
            SELECT min(\(unsafe: column.keyID)) AS key_id FROM \(unsafe: column.table)
            WHERE \(unsafe: column.keyID) > \(last)
            """
        ) { try $0.optionalString("key_id") }
    }

    private func encrypt(_ column: Column, of keyID: String) async throws -> Report {
        guard encryptor.has(keyID) else {
            let count = try await database.one(
                """
                SELECT count(*) AS count FROM \(unsafe: column.table) WHERE \(unsafe: column.keyID) = \(keyID)
                """
            ) { try $0.int("count") }
            return Report(unreadable: count)
        }
        var report = Report()
        var failed: [String] = []
        var count = Self.batch
        while count == Self.batch, failed.count < Self.maximumFailures {
            let done = failed
            let (found, failures) = try await database.transaction { db in
                try await encryptBatch(of: column, keyID, except: done, in: db)
            }
            count = found
            failed += failures
            report.encrypted += found - failures.count
        }
        report.unreadable = failed.count
        return report
    }

    /// Encrypts one batch.
    ///
    /// - Returns: the number of values found, and the rows whose value cannot be decrypted.
    private func encryptBatch(
        of column: Column,
        _ keyID: String,
        except failed: [String],
        in db: PostgresTransaction
    ) async throws -> (found: Int, failures: [String]) {
        let names = column.columns.map { $0 + "::text" }.joined(separator: ", ")
        let rows = try await db.all(
            """
            SELECT ctid::text AS row_id, ARRAY[\(unsafe: names)] AS columns, ARRAY[\(unsafe: names)]::text AS name,
                \(unsafe: column.value) AS value
            FROM \(unsafe: column.table)
            WHERE \(unsafe: column.keyID) = \(keyID) AND ARRAY[\(unsafe: names)]::text <> ALL(\(failed))
            LIMIT \(Self.batch)
            FOR UPDATE SKIP LOCKED
            """
        ) { row in
            (
                id: try row.string("row_id"), columns: try row.strings("columns"), name: try row.string("name"),
                box: try row.decode("value", as: Data.self)
            )
        }
        var failures: [String] = []
        for row in rows {
            guard let owner = column.owner(row.columns),
                let value = try? encryptor.open(TokenEncryptor.EncryptedValue(box: row.box, keyID: keyID), for: owner)
            else {
                // The value was modified or copied from another row; `run` counts it.
                failures.append(row.name)
                continue
            }
            let encrypted = try encryptor.seal(value, for: owner)
            // The row is locked, so its ctid stays valid.
            try await db.run(
                """
                UPDATE \(unsafe: column.table)
                SET \(unsafe: column.value) = \(encrypted.box), \(unsafe: column.keyID) = \(encrypted.keyID)
                WHERE ctid = \(row.id)::tid
                """
            )
        }
        return (rows.count, failures)
    }
}
