import ConversationsAPI
import Wire

/// Messages to a user instead of a conversation.
struct DirectMessages: Sendable {
    let conversations: Conversations
    let files: Files

    /// Sends a message in the direct conversation of the two users, which is created if necessary.
    func send(
        _ draft: MessageDraft,
        to named: String,
        by sender: User.ID,
        through connection: Connection? = nil
    ) async throws -> Message {
        let named = try DraftRules.userID(named, field: "userId")
        let pair = ConversationDraft(members: [named], type: Conversation.Kind.direct.rawValue)
        guard !named.isExactly(sender.user) else {
            throw APIError.invalid("userId", "a user cannot send a message to their own account")
        }
        let conversation: Conversation
        do {
            conversation = try await conversations.openDirect(pair, by: sender)
        } catch var error as APIError where error.field == "members" {
            // The client named the user in another field.
            error.field = "userId"
            error.message = error.message.replacing("\"members\"", with: "\"userId\"")
            throw error
        }
        guard let token = ConversationToken(conversation.token) else { throw Conversations.notFound }
        return try await files.send(draft, to: token, by: sender, through: connection)
    }
}
