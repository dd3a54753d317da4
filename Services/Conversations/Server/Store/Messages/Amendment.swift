import ConversationsAPI
import Wire

/// What is to become of a message that was said.
struct Amendment: Sendable {
    enum Action: Sendable {
        /// Replaces what was said, and the compact JSON of its `meta` where told to.
        case edit(data: String, meta: String?, replacesMeta: Bool)
        case delete
        case react(String)
        case unreact(String)
    }

    let conversation: ConversationToken
    let user: User.ID
    /// Of the same conversation.
    let message: Message.ID
    let action: Action

    var textBytes: Int {
        switch action {
        case .edit(let data, let meta, _): data.utf8.count + (meta?.utf8.count ?? 0)
        case .delete: 0
        case .react(let emoji), .unreact(let emoji): emoji.utf8.count
        }
    }
}

/// Why nothing was written, or a message stays as it is; the raw value is the database's word for it.
enum WriteRejection: String, Sendable {
    case missing
    /// The suite itself said it.
    case system
    /// Somebody else said it.
    case notAuthor = "not_author"
    case deleted
    /// It is a file, which has no text.
    case file
    /// It has as many reactions as it may.
    case full
    /// The other of a direct conversation does not want to hear of it.
    case blocked
}
