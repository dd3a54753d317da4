import ConversationsAPI
import Wire

/// Messages to a person rather than to a conversation.
struct DirectMessages: Sendable {
    let conversations: Conversations
    let files: Files

    /// Says it in the conversation of the two, which is made if need be.
    func send(
        _ draft: MessageDraft,
        to named: String,
        by sender: User.ID,
        through connection: Connection? = nil
    ) async throws -> Message {
        let pair = ConversationDraft(members: [named], type: Conversation.Kind.direct.rawValue)
        guard !named.isExactly(sender.user) else {
            throw APIError.invalid("userId", "nobody talks to himself here")
        }
        let conversation: Conversation
        do {
            conversation = try await conversations.openDirect(pair, by: sender)
        } catch var error as APIError where error.field == "members" {
            // It was not asked for by that name.
            error.field = "userId"
            error.message = error.message.replacing("\"members\"", with: "\"userId\"")
            throw error
        }
        guard let token = ConversationToken(conversation.token) else { throw Conversations.notFound }
        return try await files.send(draft, to: token, by: sender, through: connection)
    }
}
