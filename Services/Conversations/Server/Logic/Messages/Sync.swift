import ConversationsAPI
import Postgres
import Wire

/// The catch-up of a conversation's member: all missed changes, or the instruction to read the conversation again.
struct Sync: Sendable {
    static let page = 100

    let database: PostgresPool
    let links: FileLinks

    /// Returns new and changed messages and moved marks after `change`, ordered by change, and the head at that time.
    ///
    /// Returns nil when the user is not a member.
    func missed(
        in conversation: Conversation.ID,
        by user: User.ID,
        after change: Int64,
        limit: Int = Sync.page
    ) async throws -> (changes: Changes, head: ConversationHead)? {
        let store = MessageStore(db: database.reads)
        let found = try await store.changes(conversation, for: user, after: change, limit: limit)
        return found.map { (links.signed($0.changes), $0.head) }
    }

    /// Returns new messages after `seq` in their order; nil when the user is not a member.
    ///
    /// For a client that does not track changes, and so receives no changes to messages that it has. It may continue
    /// with the `change` of the response.
    func missed(
        in conversation: Conversation.ID,
        by user: User.ID,
        afterSeq seq: Int64,
        limit: Int = Sync.page
    ) async throws -> Changes? {
        let store = MessageStore(db: database.reads)
        return try await store.messages(conversation, for: user, afterSeq: seq, limit: limit).map(links.signed)
    }
}
