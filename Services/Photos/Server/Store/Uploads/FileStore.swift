import Blobs
import Postgres

/// The table `files` of image files; the same bytes of a user are stored once.
struct FileStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Locks the user's file with this digest until the transaction ends.
    func lock(withDigest sha256: [UInt8], of owner: Person.ID) async throws -> StoredImage? {
        try await db.first(
            """
            SELECT file_id, full_key, thumbnail_key, width, height, blurhash FROM files
            WHERE owner_id = \(owner) AND sha256 = \(sha256)
            FOR NO KEY UPDATE
            """,
            as: { try StoredImage(row: $0) }
        )
    }

    /// Inserts a file; returns nil if the user has a file with this digest.
    func insert(_ image: NewImageFile, of owner: Person.ID) async throws -> StoredImage? {
        try await db.first(
            """
            INSERT INTO files (owner_id, sha256, full_key, thumbnail_key, width, height, blurhash)
            VALUES (
                \(owner), \(image.sha256), \(image.full.description), \(image.thumbnail.description), \(image.width),
                \(image.height), \(image.blurhash)
            )
            ON CONFLICT ON CONSTRAINT files_once DO NOTHING
            RETURNING file_id, full_key, thumbnail_key, width, height, blurhash
            """,
            as: { try StoredImage(row: $0) }
        )
    }
}

struct NewImageFile: Sendable {
    /// The digest of the uploaded bytes.
    let sha256: [UInt8]
    let full: BlobKey
    let thumbnail: BlobKey
    /// The size of `full`, in pixels.
    let width: Int
    let height: Int
    let blurhash: String
}

struct StoredImage: Hashable, Sendable {
    let file: Int64
    let full: String
    let thumbnail: String
    let width: Int
    let height: Int
    let blurhash: String

    init(row: PostgresRow) throws {
        file = try row.int64("file_id")
        full = try row.string("full_key")
        thumbnail = try row.string("thumbnail_key")
        width = Int(try row.int32("width"))
        height = Int(try row.int32("height"))
        blurhash = try row.string("blurhash")
    }

    func image(of owner: Person.ID) -> ClaimedImage {
        ClaimedImage(
            url: "/media/\(full)\(owner)",
            thumbnailURL: "/media/\(thumbnail)\(owner)",
            width: width,
            height: height,
            blurhash: blurhash
        )
    }
}
