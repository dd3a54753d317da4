import ConversationsAPI
import Wire

/// Blocking the other member of a direct conversation by the conversation's token.
extension Blocks {
    func block(
        peerIn token: ConversationToken,
        by user: User.ID,
        _ conversations: Conversations
    ) async throws -> Conversation {
        _ = try await add(other(in: token, than: user, conversations), by: user)
        return try await conversations.show(token, to: user)
    }

    func unblock(
        peerIn token: ConversationToken,
        by user: User.ID,
        _ conversations: Conversations
    ) async throws -> Conversation {
        _ = try await remove(other(in: token, than: user, conversations), by: user)
        return try await conversations.show(token, to: user)
    }

    private func other(
        in token: ConversationToken,
        than user: User.ID,
        _ conversations: Conversations
    ) async throws -> String {
        let conversation = try await conversations.show(token, to: user)
        guard conversation.type == .direct, let other = conversation.members?.first(where: { !$0.isExactly(user.user) })
        else {
            throw APIError(
                .unprocessable,
                "direct_required",
                "only a direct conversation can be blocked; block the user instead"
            )
        }
        return other
    }
}
