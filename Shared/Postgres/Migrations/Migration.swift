import Crypto

/// One step of a schema's history: a file of SQL statements with a fixed name.
public struct Migration: Sendable, Hashable {
    /// The name under which the migration is recorded (`V0001_create_accounts`); migrations are applied in the byte
    /// order of names.
    public let name: String

    /// The SQL statements, separated by `;` and encoded in UTF-8, without `BEGIN` and `COMMIT`; each migration runs in
    /// its own transaction.
    public let sql: [UInt8]

    /// Creates a migration from its name and the bytes of its file.
    public init(name: String, sql: [UInt8]) {
        self.name = name
        self.sql = sql
    }

    /// The SHA-256 digest of the file in lower-case hex, which detects a file that was edited after it was applied.
    public var checksum: String {
        SHA256.hash(data: sql).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
