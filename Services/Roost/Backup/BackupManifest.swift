/// The manifest of a backup: its origin, and the content that a restore must produce.
struct BackupManifest: Codable, Hashable, Sendable {
    static let currentFormat = 1

    /// Increases when older releases cannot read a backup correctly.
    var format = currentFormat
    /// The time of the first database's snapshot, RFC 3339.
    var takenAt: String
    var schemas: [BackedUpSchema]
    var files: BackedUpFiles?
}

struct BackedUpSchema: Codable, Hashable, Sendable {
    var name: String
    /// The major version of the server.
    var serverVersion: Int
    /// The major version of the `pg_dump` that wrote it.
    var programVersion: Int
    /// The archive in `pg_dump`'s custom format.
    var archive: BackedUpPart
    /// Checksums of the applied migrations, by name.
    var migrations: [String: String]
    /// The number of rows, by table.
    var tables: [String: Int]

    var rows: Int { tables.values.reduce(0, +) }
}

struct BackedUpPart: Codable, Hashable, Sendable {
    var name: String
    var bytes: Int
    var sha256: String
}

/// The uploads of a backup, which are below `files/` and listed with their checksums in a separate part.
struct BackedUpFiles: Codable, Hashable, Sendable {
    /// One line per file, in the format of `sha256sum`.
    var list: BackedUpPart
    var count: Int
    var bytes: Int
}
