import Blobs
import ConversationsAPI
import Postgres
import ServiceHost
import Wire

/// A user's data in all tables of the service, for the export: memberships and the user's own messages.
struct ExportStore<Executor: PostgresExecutor> {
    let db: Executor

    /// The number of conversations that one statement scans.
    private static var batch: Int { 1_000 }

    func profile(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'id', user_number, 'meta', meta::json, 'storedBytes', stored_bytes, 'lastSeenAt', \(unsafe: ExportPages.time("last_seen_at")),
                'devices', (
                    SELECT json_agg(json_build_object(
                        'serial', serial, 'platform', platform, 'badge', badge, 'meta', devices.meta::json,
                        'seenAt', \(unsafe: ExportPages.time("seen_at"))
                    ) ORDER BY device_number)
                    FROM devices
                    WHERE devices.application_id = users.application_id AND devices.user_id = users.user_id
                ),
                'blocks', (
                    SELECT json_agg(json_build_object(
                        'userId', blocked_id, 'at', \(unsafe: ExportPages.time("blocked_at"))
                    ) ORDER BY blocked_at, blocked_id)
                    FROM blocks
                    WHERE blocks.application_id = users.application_id AND blocks.user_id = users.user_id
                )
            )::text AS row
            FROM users
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """,
            of: db
        )
    }

    /// Returns the conversations that the user is a member of.
    func conversations(of user: User.ID, after cursor: [Int64]?) async throws -> ExportPages.Page {
        try await ExportPages.page(
            """
            SELECT ARRAY[members.conversation_id] AS place, json_build_object(
                'id', members.conversation_id, 'type', conversations.type, 'label', conversations.label,
                'meta', conversations.meta::json, 'createdAt', \(unsafe: ExportPages.time("conversations.created_at")),
                'isCreator', conversations.creator_id = members.user_id, 'isAdmin', members.is_admin,
                'readSeq', members.read_seq, 'pushEnabled', members.push_enabled
            )::text AS row
            FROM members JOIN conversations ON conversations.conversation_id = members.conversation_id
            WHERE members.application_id = \(user.application) AND members.user_id = \(user.user)
                AND members.conversation_id > \(cursor?.first ?? 0)
            ORDER BY members.conversation_id
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    /// Scans the next conversations for messages of the user; returns matches and the last one scanned, or nil at the
    /// end.
    func conversationsWithMessages(
        by user: User.ID,
        after conversation: Conversation.ID
    ) async throws -> (found: [Conversation.ID], upTo: Conversation.ID)? {
        let rows = try await db.all(
            """
            SELECT scanned.conversation_id, scanned.application_id = \(user.application) AND EXISTS (
                SELECT FROM messages
                WHERE messages.conversation_id = scanned.conversation_id AND messages.sender_id = \(user.user)
            ) AS is_found
            FROM (
                SELECT conversation_id, application_id FROM conversations
                WHERE conversation_id > \(conversation) ORDER BY conversation_id LIMIT \(Self.batch)
            ) AS scanned
            ORDER BY scanned.conversation_id
            """
        ) { row in (id: try row.decode("conversation_id", as: Conversation.ID.self), isFound: try row.bool("is_found"))
        }
        return rows.last.map { last in (rows.filter(\.isFound).map(\.id), last.id) }
    }

    /// Returns the user's messages in a conversation, with files under the names that they have in the export.
    func messages(
        by user: User.ID,
        in conversation: Conversation.ID,
        after cursor: [Int64]?
    ) async throws -> ExportPages.Page {
        try await ExportPages.page(
            """
            SELECT ARRAY[seq] AS place, json_build_object(
                'seq', seq, 'mime', mime, 'encoding', encoding, 'meta', meta::json, 'replyTo', reply_to,
                'data', CASE encoding WHEN 'url' THEN 'files/' || conversation_id || '-' || seq ELSE data END,
                -- The name follows the key and the size, if the file came with a name.
                'name', CASE encoding WHEN 'url' THEN nullif(regexp_replace(data, '^[^ ]+ [^ ]+ ', ''), '') END,
                'createdAt', \(unsafe: ExportPages.time("created_at")),
                'editedAt', \(unsafe: ExportPages.time("edited_at")),
                'deletedAt', \(unsafe: ExportPages.time("deleted_at"))
            )::text AS row
            FROM messages
            WHERE conversation_id = \(conversation) AND sender_id = \(user.user) AND seq > \(cursor?.first ?? 0)
            ORDER BY seq
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }

    /// Returns the next files that the user sent in a conversation.
    func files(
        by user: User.ID,
        in conversation: Conversation.ID,
        after seq: Int64
    ) async throws -> [(seq: Int64, FileReference)] {
        try await db.all(
            """
            SELECT seq, data FROM messages
            WHERE conversation_id = \(conversation) AND sender_id = \(user.user) AND encoding = \(FileReference.encoding)
                AND seq > \(seq)
            ORDER BY seq
            LIMIT 100
            """
        ) { row -> (seq: Int64, FileReference)? in
            guard let file = FileReference(stored: try row.string("data")) else { return nil }
            return (try row.int64("seq"), file)
        }.compactMap(\.self)
    }
}
