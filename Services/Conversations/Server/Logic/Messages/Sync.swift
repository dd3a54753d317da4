import ConversationsAPI
import Postgres
import Wire

/// What somebody missed of a conversation that he is in: from the record, whole, or the word that he must read it anew.
struct Sync: Sendable {
    static let page = 100

    let database: PostgresPool
    let links: FileLinks

    /// New and changed messages and marks behind a `change`, by change; with where the conversation was then.
    ///
    /// Nil: he is not in it.
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

    /// New messages behind a `seq`, in their order; nil: he is not in it.
    ///
    /// For who does not know of changes, and so learns of none to those that he has. He may go on with the answer's
    /// `change`.
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
