/// What a backup says of itself: from what it was taken, and what must be there once it is restored.
struct BackupManifest: Codable, Hashable, Sendable {
    /// The format that this release writes, and the newest that it reads.
    static let currentFormat = 1

    /// Grows when an older release could not read a backup rightly.
    var format = currentFormat
    /// When the snapshot of the first database was taken, RFC 3339.
    var takenAt: String
    /// One for each service with a schema.
    var schemas: [BackedUpSchema]
    /// What users have uploaded, where it is kept in a folder.
    var files: BackedUpFiles?
}

/// One service's schema, as it was in the snapshot.
struct BackedUpSchema: Codable, Hashable, Sendable {
    /// The service's name, and the schema's.
    var name: String
    /// The major version of the server it comes from.
    var serverVersion: Int
    /// The major version of the `pg_dump` that wrote it.
    var programVersion: Int
    /// The archive, in `pg_dump`'s custom format.
    var archive: BackedUpPart
    /// Checksums of the applied migrations, by name.
    var migrations: [String: String]
    /// Rows, by table.
    var tables: [String: Int]

    var rows: Int { tables.values.reduce(0, +) }
}

/// One file of a backup.
struct BackedUpPart: Codable, Hashable, Sendable {
    /// Its name in the backup's folder.
    var name: String
    var bytes: Int
    /// In hex.
    var sha256: String
}

/// The uploads in a backup: below `files/`, listed with their checksums in a part of its own.
struct BackedUpFiles: Codable, Hashable, Sendable {
    /// A line for each file, as `sha256sum` writes it.
    var list: BackedUpPart
    var count: Int
    var bytes: Int
}
