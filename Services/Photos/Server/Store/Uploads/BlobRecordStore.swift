import Blobs
import Foundation
import Postgres
import Wire

/// The table `blobs`: all blobs in the blob store, and when unused ones are due for deletion.
struct BlobRecordStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Records blobs before they are stored; they are due unless they are confirmed within `blobLifetime` seconds.
    func insert(_ keys: [BlobKey], of owner: Person.ID, blobLifetime: TimeInterval) async throws {
        try await db.run(
            """
            INSERT INTO blobs (owner_id, key, due_at)
            SELECT \(owner), key, clock_timestamp() + \(blobLifetime)::float8 * interval '1 second'
            FROM unnest(\(keys.map(\.description))) AS key
            """
        )
    }

    /// Confirms a recorded blob; returns false if that took too long and the blob may be deleted.
    ///
    /// Only blobs with a media type are served.
    func confirm(_ key: BlobKey, of owner: Person.ID, size: Int64, mediaType: String?) async throws -> Bool {
        try await db.run(
            """
            UPDATE blobs SET due_at = NULL, size = \(size), media_type = \(mediaType)
            WHERE owner_id = \(owner) AND key = \(key.description) AND due_at > clock_timestamp()
            """
        ) == 1
    }

    func storedBytes(of owner: Person.ID) async throws -> Int64 {
        try await db.first(
            "SELECT bytes FROM stored_bytes WHERE owner_id = \(owner)",
            as: { try $0.int64("bytes") }
        ) ?? 0
    }

    /// Makes unused blobs due at once; returns them, with those that have no row.
    func discard(_ keys: [BlobKey], of owner: Person.ID) async throws -> [BlobKey] {
        let names = keys.map(\.description)
        try await db.run(
            """
            UPDATE blobs SET due_at = clock_timestamp()
            WHERE owner_id = \(owner) AND key = ANY (\(names)) AND due_at IS NOT NULL
            """
        )
        // If the cleanup deleted a row while the blob was still being stored, only this list contains the blob.
        return try await db.all(
            """
            SELECT requested.key FROM unnest(\(names)) AS requested (key)
            WHERE NOT EXISTS (
                SELECT FROM blobs WHERE blobs.owner_id = \(owner) AND blobs.key = requested.key AND blobs.due_at IS NULL
            )
            """,
            as: { try $0.string("key") }
        ).compactMap { BlobKey($0) }
    }

    func due(limit: Int) async throws -> [MediaKey] {
        try await db.all(
            """
            SELECT owner_id, key FROM blobs WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT \(limit)
            """,
            as: MediaKey.init(row:)
        ).compactMap(\.self)
    }

    /// Locks the deletion of blobs until the transaction ends; returns false during a backup or another deletion.
    ///
    /// `roost backup` takes the same lock in shared mode.
    func lockDeletion() async throws -> Bool {
        try await db.one(
            "SELECT pg_try_advisory_xact_lock(hashtext('roost files')) AS is_free",
            as: { try $0.bool("is_free") }
        )
    }

    func delete(_ keys: [BlobKey], of owner: Person.ID) async throws {
        try await db.run(
            """
            DELETE FROM blobs
            WHERE owner_id = \(owner) AND key = ANY (\(keys.map(\.description))) AND due_at <= clock_timestamp()
            """
        )
    }

    func served(_ key: MediaKey) async throws -> ServedBlob? {
        try await db.first(
            """
            SELECT media_type, size FROM blobs
            WHERE owner_id = \(key.owner) AND key = \(key.blob.description)
                AND due_at IS NULL AND media_type IS NOT NULL
            """,
            as: { ServedBlob(key: key, mediaType: try $0.string("media_type"), size: try $0.int64("size")) }
        )
    }

    func served(among keys: [MediaKey]) async throws -> Set<MediaKey> {
        let found = try await db.all(
            """
            SELECT blobs.owner_id, blobs.key
            FROM unnest(\(keys.map(\.owner.rawValue)), \(keys.map(\.blob.description))) AS requested (owner_id, key)
            JOIN blobs ON blobs.owner_id = requested.owner_id AND blobs.key = requested.key
            WHERE blobs.due_at IS NULL AND blobs.media_type IS NOT NULL
            """,
            as: MediaKey.init(row:)
        )
        return Set(found.compactMap(\.self))
    }
}

extension MediaKey {
    fileprivate init?(row: PostgresRow) throws {
        guard let blob = BlobKey(try row.string("key")) else { return nil }
        self.init(blob, of: try row.decode("owner_id"))
    }
}
