import Blobs
import ConversationsAPI
import Foundation
import Postgres
import Wire

/// The table `files`: the stored blobs, those that are due for deletion, and how many bytes each user has.
struct FileStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Inserts a file that a member is about to upload; returns false when the sender cannot see the conversation.
    ///
    /// Unless a message takes the file within `uploadLifetime` seconds, it is due for deletion.
    func insertPending(
        _ key: BlobKey,
        in token: ConversationToken,
        by sender: User.ID,
        uploadLifetime: TimeInterval
    ) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO files (conversation_id, key, due_at, owner_number)
            SELECT conversations.conversation_id, \(key.description),
                   clock_timestamp() + \(uploadLifetime)::float8 * interval '1 second', members.user_number
            FROM conversations
            JOIN members ON members.conversation_id = conversations.conversation_id
                AND members.user_id = \(sender.user) AND members.application_id = \(sender.application)
            WHERE conversations.conversation_id = \(token.id) AND conversations.secret = \(token.secret)
            """
        ) == 1
    }

    func storedBytes(of user: User.ID) async throws -> Int64 {
        try await db.first(
            "SELECT stored_bytes FROM users WHERE application_id = \(user.application) AND user_id = \(user.user)",
            as: { try $0.int64("stored_bytes") }
        ) ?? 0
    }

    /// Counts a stored file for its owner; returns false when the owner would have more than `quota` bytes.
    ///
    /// The owner's row is locked only here and when files are removed, so a message without a file does not wait for
    /// it.
    func count(_ key: FileKey, size: Int64, quota: Int64) async throws -> Bool {
        try await db.run(
            """
            WITH counted AS (
                UPDATE users SET stored_bytes = users.stored_bytes + \(size)
                FROM files
                WHERE files.conversation_id = \(key.conversation) AND files.key = \(key.blob.description)
                    AND files.size IS NULL AND users.user_number = files.owner_number
                    AND users.stored_bytes + \(size) <= \(quota)
                RETURNING users.user_number
            )
            UPDATE files SET size = \(size)
            FROM counted
            WHERE files.conversation_id = \(key.conversation) AND files.key = \(key.blob.description)
            """
        ) == 1
    }

    /// Makes a file without a message due at once; returns false when a message has it.
    func discard(_ key: FileKey) async throws -> Bool {
        let isDue =
            try await db.run(
                """
                UPDATE files SET due_at = clock_timestamp()
                WHERE conversation_id = \(key.conversation) AND key = \(key.blob.description) AND due_at IS NOT NULL
                """
            ) == 1
        guard !isDue else { return true }
        // When the sweep deleted the row during the upload, only this caller can still remove the bytes.
        return try await db.first(
            "SELECT key FROM files WHERE conversation_id = \(key.conversation) AND key = \(key.blob.description)",
            as: { _ in true }
        ) == nil
    }

    /// Returns files that are due, those due longest first.
    func due(limit: Int) async throws -> [FileKey] {
        try await db.all(
            """
            SELECT conversation_id, key FROM files WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT \(limit)
            """,
            as: { row in
                guard let blob = BlobKey(try row.string("key")) else { return nil }
                return FileKey(blob: blob, conversation: try row.decode("conversation_id"))
            }
        ).compactMap { (key: FileKey?) in key }
    }

    /// Permits the deletion of files until the transaction ends; returns false while a backup copies files.
    ///
    /// `roost backup` takes the same lock in shared mode.
    func lockDeletion() async throws -> Bool {
        try await db.one(
            "SELECT pg_try_advisory_xact_lock(hashtext('roost files')) AS is_free",
            as: { try $0.bool("is_free") }
        )
    }

    /// Deletes the rows of files whose blobs are removed, and subtracts their sizes from their owners' bytes.
    func deleteRows(_ keys: [FileKey]) async throws {
        guard !keys.isEmpty else { return }
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM files
                USING unnest(\(keys.map(\.conversation.rawValue)), \(keys.map(\.blob.description)))
                    AS gone (conversation_id, key)
                WHERE files.conversation_id = gone.conversation_id AND files.key = gone.key
                    AND files.due_at <= clock_timestamp()
                RETURNING files.owner_number, files.size
            )
            UPDATE users SET stored_bytes = greatest(users.stored_bytes - freed.bytes, 0)
            FROM (
                SELECT owner_number, sum(size)::bigint AS bytes FROM gone WHERE size IS NOT NULL GROUP BY owner_number
            ) AS freed
            WHERE users.user_number = freed.owner_number
            """
        )
    }

    /// Returns the file of a message.
    func find(_ key: FileKey) async throws -> FileContent? {
        try await db.first(
            """
            SELECT messages.data, messages.mime
            FROM files
            JOIN conversations ON conversations.conversation_id = files.conversation_id
            JOIN messages ON messages.conversation_id = files.conversation_id AND messages.seq = files.seq
            WHERE files.conversation_id = \(key.conversation) AND files.key = \(key.blob.description)
                AND files.due_at IS NULL
            """,
            as: { row in
                guard let reference = FileReference(stored: try row.string("data")) else { return nil }
                return FileContent(reference: reference, mediaType: try row.string("mime"))
            }
        ) ?? nil
    }
}
