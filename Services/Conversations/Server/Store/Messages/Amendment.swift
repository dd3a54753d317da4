import ConversationsAPI
import Wire

/// A change to a message.
struct Amendment: Sendable {
    enum Action: Sendable {
        /// Replaces the text and, if `replacesMeta` is true, the compact JSON of the `meta`.
        case edit(data: String, meta: String?, replacesMeta: Bool)
        case delete
        case react(String)
        case unreact(String)
    }

    let conversation: ConversationToken
    let user: User.ID
    /// A message of the same conversation.
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

/// The reason why a write was rejected; the raw value is the text that the statement returns.
enum WriteRejection: String, Sendable {
    case missing
    /// The message is a system message.
    case system
    /// Another user sent the message.
    case notAuthor = "not_author"
    case deleted
    /// The message is a file, which has no text.
    case file
    /// The message has the maximum number of reactions.
    case full
    /// The other user of a direct conversation has blocked this user.
    case blocked
}
