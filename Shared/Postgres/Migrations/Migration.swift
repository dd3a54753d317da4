import Crypto

/// One step of a schema: a file of SQL statements with a name that never changes.
public struct Migration: Sendable, Hashable {
    /// The name it is recorded under (`V0001_create_accounts`); the order of names is the order of steps.
    public let name: String

    /// Its statements, `;` between them, without `BEGIN` and `COMMIT`: it runs in a transaction of its own.
    public let sql: [UInt8]

    /// A migration from the bytes of its file.
    public init(name: String, sql: [UInt8]) {
        self.name = name
        self.sql = sql
    }

    /// SHA-256 of the file, in hex, by which an edited one is found.
    public var checksum: String {
        SHA256.hash(data: sql).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}
