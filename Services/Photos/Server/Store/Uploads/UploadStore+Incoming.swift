import Blobs
import Foundation
import Postgres
import Wire

struct UploadRow: Sendable {
    let id: String
    /// Nil until the upload is complete and an image.
    let image: StoredImage?
    /// The announced and the received number of bytes; nil for an upload that was not resumable.
    let length: Int64?
    let received: Int64?
    let metadata: String
    /// Nil if a post or a profile uses the upload.
    let expiresAt: Date?
}

extension UploadStore {
    /// Creates a resumable upload; returns its expiry, or nil if the user has the maximum number of unused uploads.
    func begin(
        _ id: String,
        of owner: Person.ID,
        length: Int64,
        metadata: String,
        lifetime: TimeInterval,
        maximum: Int
    ) async throws -> Date? {
        try await db.first(
            """
            INSERT INTO uploads (owner_id, upload_id, length, received, metadata, expires_at)
            SELECT \(owner), \(id), \(length), 0, \(metadata),
                   clock_timestamp() + \(lifetime)::float8 * interval '1 second'
            WHERE (SELECT count(*) FROM uploads WHERE owner_id = \(owner) AND expires_at IS NOT NULL) < \(maximum)
            RETURNING expires_at
            """,
            as: { try $0.date("expires_at") }
        )
    }

    /// Assigns an image to an upload that is complete.
    ///
    /// The upload's chunks become due. An upload that already has an image keeps it.
    func finish(
        _ id: String,
        of owner: Person.ID,
        with image: StoredImage,
        lifetime: TimeInterval
    ) async throws -> Date? {
        let expiresAt = try await db.first(
            """
            INSERT INTO uploads AS existing (owner_id, upload_id, file_id, expires_at)
            VALUES (\(owner), \(id), \(image.file), clock_timestamp() + \(lifetime)::float8 * interval '1 second')
            ON CONFLICT (owner_id, upload_id) DO UPDATE SET file_id = excluded.file_id
            WHERE existing.file_id IS NULL AND existing.expires_at > clock_timestamp()
            RETURNING expires_at
            """,
            as: { try $0.date("expires_at") }
        )
        try await db.run("DELETE FROM upload_pieces WHERE owner_id = \(owner) AND upload_id = \(id)")
        return expiresAt
    }

    func pending(of owner: Person.ID) async throws -> Int {
        try await db.one(
            "SELECT count(*) AS count FROM uploads WHERE owner_id = \(owner) AND expires_at IS NOT NULL",
            as: { try $0.int("count") }
        )
    }

    func find(_ id: String, of owner: Person.ID) async throws -> UploadRow? {
        try await db.first(
            """
            SELECT uploads.upload_id, uploads.length, uploads.received, uploads.metadata, uploads.expires_at,
                   files.file_id, files.full_key, files.thumbnail_key, files.width, files.height, files.blurhash
            FROM uploads
            LEFT JOIN files ON files.owner_id = uploads.owner_id AND files.file_id = uploads.file_id
            WHERE uploads.owner_id = \(owner) AND uploads.upload_id = \(id)
            """,
            as: { try UploadRow(row: $0) }
        )
    }

    /// Appends a chunk; returns nil if its offset is used, the upload does not exist or it has too many chunks.
    func advance(
        _ id: String,
        of owner: Person.ID,
        from start: Int64,
        by size: Int64,
        key: BlobKey,
        maximumPieces: Int
    ) async throws -> Int64? {
        let received = try await db.first(
            """
            UPDATE uploads SET received = received + \(size)
            WHERE owner_id = \(owner) AND upload_id = \(id) AND received = \(start) AND file_id IS NULL
                AND expires_at > clock_timestamp()
                AND (
                    SELECT count(*) FROM upload_pieces WHERE owner_id = \(owner) AND upload_id = \(id)
                ) < \(maximumPieces)
            RETURNING received
            """,
            as: { try $0.int64("received") }
        )
        guard let received else { return nil }
        try await db.run(
            """
            INSERT INTO upload_pieces (owner_id, upload_id, start, key)
            VALUES (\(owner), \(id), \(start), \(key.description))
            """
        )
        return received
    }

    func pieces(of id: String, of owner: Person.ID) async throws -> [BlobKey] {
        try await db.all(
            "SELECT key FROM upload_pieces WHERE owner_id = \(owner) AND upload_id = \(id) ORDER BY start",
            as: { BlobKey(try $0.string("key")) }
        ).compactMap { (key: BlobKey?) in key }
    }

    func remove(_ id: String, of owner: Person.ID) async throws -> Bool {
        try await db.run(
            "DELETE FROM uploads WHERE owner_id = \(owner) AND upload_id = \(id) AND expires_at IS NOT NULL"
        ) == 1
    }

    /// Deletes expired uploads of one user; returns how many.
    ///
    /// Each transaction handles one user: it updates the user's byte counter, and transactions over several users could
    /// deadlock.
    func expire(limit: Int) async throws -> Int {
        try await db.run(
            """
            DELETE FROM uploads
            WHERE (owner_id, upload_id) IN (
                SELECT owner_id, upload_id FROM uploads
                WHERE expires_at <= clock_timestamp() AND owner_id = (
                    SELECT owner_id FROM uploads WHERE expires_at <= clock_timestamp() ORDER BY expires_at LIMIT 1
                )
                ORDER BY expires_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            """
        )
    }
}

extension UploadRow {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: try row.string("upload_id"),
            image: try row.optionalInt64("file_id").map { _ in try StoredImage(row: row) },
            length: try row.optionalInt64("length"),
            received: try row.optionalInt64("received"),
            metadata: try row.string("metadata"),
            expiresAt: try row.optionalDate("expires_at")
        )
    }
}
