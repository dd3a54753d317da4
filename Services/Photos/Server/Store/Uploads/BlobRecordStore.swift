import Blobs
import Foundation
import Postgres
import Wire

/// The table `blobs`: what lies in the store of files, and which of it nobody has any more.
struct BlobRecordStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Notes blobs that are about to be put; unless they are kept within `blobLifetime` seconds, they are due.
    func insert(_ keys: [BlobKey], of owner: Person.ID, blobLifetime: TimeInterval) async throws {
        try await db.run(
            """
            INSERT INTO blobs (owner_id, key, due_at)
            SELECT \(owner), key, clock_timestamp() + \(blobLifetime)::float8 * interval '1 second'
            FROM unnest(\(keys.map(\.description))) AS key
            """
        )
    }

    /// Keeps one that was noted; false where that took too long, and it may be gone.
    ///
    /// With a media type it is served.
    func keep(_ key: BlobKey, of owner: Person.ID, size: Int64, mediaType: String?) async throws -> Bool {
        try await db.run(
            """
            UPDATE blobs SET due_at = NULL, size = \(size), media_type = \(mediaType)
            WHERE owner_id = \(owner) AND key = \(key.description) AND due_at > clock_timestamp()
            """
        ) == 1
    }

    /// Bytes of the blobs that are kept for a person.
    func storedBytes(of owner: Person.ID) async throws -> Int64 {
        try await db.first(
            "SELECT bytes FROM stored_bytes WHERE owner_id = \(owner)",
            as: { try $0.int64("bytes") }
        ) ?? 0
    }

    /// Makes those due at once that nothing has; answers with them, and with those that are not noted any more.
    func discard(_ keys: [BlobKey], of owner: Person.ID) async throws -> [BlobKey] {
        let names = keys.map(\.description)
        try await db.run(
            """
            UPDATE blobs SET due_at = clock_timestamp()
            WHERE owner_id = \(owner) AND key = ANY (\(names)) AND due_at IS NOT NULL
            """
        )
        // Where the sweep has struck one off while its bytes were still coming, nobody else knows of it any more.
        return try await db.all(
            """
            SELECT asked.key FROM unnest(\(names)) AS asked (key)
            WHERE NOT EXISTS (
                SELECT FROM blobs WHERE blobs.owner_id = \(owner) AND blobs.key = asked.key AND blobs.due_at IS NULL
            )
            """,
            as: { try $0.string("key") }
        ).compactMap { BlobKey($0) }
    }

    /// Those that are due, the longest first.
    func due(limit: Int) async throws -> [MediaKey] {
        try await db.all(
            """
            SELECT owner_id, key FROM blobs WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT \(limit)
            """,
            as: MediaKey.init(row:)
        ).compactMap(\.self)
    }

    /// Until the transaction's end, blobs may be deleted; false while a backup copies them, or another sweeps.
    ///
    /// `roost backup` takes the same lock, shared.
    func lockDeletion() async throws -> Bool {
        try await db.one(
            "SELECT pg_try_advisory_xact_lock(hashtext('roost files')) AS is_free",
            as: { try $0.bool("is_free") }
        )
    }

    /// Strikes off what is gone.
    func delete(_ keys: [BlobKey], of owner: Person.ID) async throws {
        try await db.run(
            """
            DELETE FROM blobs
            WHERE owner_id = \(owner) AND key = ANY (\(keys.map(\.description))) AND due_at <= clock_timestamp()
            """
        )
    }

    /// What is served under a key.
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

    /// Which of these are served.
    func served(among keys: [MediaKey]) async throws -> Set<MediaKey> {
        let found = try await db.all(
            """
            SELECT blobs.owner_id, blobs.key
            FROM unnest(\(keys.map(\.owner.rawValue)), \(keys.map(\.blob.description))) AS known (owner_id, key)
            JOIN blobs ON blobs.owner_id = known.owner_id AND blobs.key = known.key
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
