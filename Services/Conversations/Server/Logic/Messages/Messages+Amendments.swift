import ConversationsAPI
import Wire

/// Changes to a message: the sender edits it, the sender and admins delete it, members react to it.
extension Messages {
    func edit(
        _ message: Message.ID,
        in token: ConversationToken,
        to changes: MessageChanges,
        by user: User.ID
    ) async throws -> Message {
        let action = Amendment.Action.edit(
            data: try DraftRules.text(changes.data),
            meta: try DraftRules.meta(changes.meta),
            replacesMeta: changes.meta != nil
        )
        return try await amend(message, in: token, by: user, action)
    }

    func delete(_ message: Message.ID, in token: ConversationToken, by user: User.ID) async throws -> Message {
        try await amend(message, in: token, by: user, .delete)
    }

    func react(
        _ emoji: String,
        to message: Message.ID,
        in token: ConversationToken,
        by user: User.ID
    ) async throws -> Message {
        try await amend(message, in: token, by: user, .react(DraftRules.emoji(emoji)))
    }

    func unreact(
        _ emoji: String,
        to message: Message.ID,
        in token: ConversationToken,
        by user: User.ID
    ) async throws -> Message {
        try await amend(message, in: token, by: user, .unreact(DraftRules.emoji(emoji)))
    }

    private func amend(
        _ message: Message.ID,
        in token: ConversationToken,
        by user: User.ID,
        _ action: Amendment.Action
    ) async throws -> Message {
        guard message.conversation == token.id else {
            // A user who cannot see the conversation receives no other error than that.
            _ = try await history(token, to: user, HistorySpan(count: 1))
            throw Self.notFound
        }
        let write = Amendment(conversation: token, user: user, message: message, action: action)
        switch try await writeShards.write(.amendment(write)) {
        case .amended: return try await current(message.seq, of: token, to: user)
        case .refused(let refusal): throw refusal.error(for: action)
        case .written, .duplicate, .marked, .notMember: throw Conversations.notFound
        }
    }

    static let notFound = APIError(.notFound, "message_not_found", "there is no such message")
}

extension WriteRejection {
    fileprivate func error(for action: Amendment.Action) -> APIError {
        switch self {
        case .missing: Messages.notFound
        case .system: APIError(.unprocessable, "system_message", "a system message cannot be changed")
        case .notAuthor:
            if case .delete = action {
                APIError(.forbidden, "not_author", "only the sender and admins can delete a message")
            } else {
                APIError(.forbidden, "not_author", "only the sender can edit a message")
            }
        case .blocked: Conversations.blocked
        case .deleted: APIError(.unprocessable, "message_deleted", "the message is deleted")
        case .file: APIError(.unprocessable, "file_not_editable", "a file cannot be edited")
        case .full:
            APIError(
                .unprocessable,
                "too_many_reactions",
                "a message may have at most \(BatchWriter.maximumEmoji) emoji "
                    + "and \(BatchWriter.maximumReactions) reactions"
            )
        }
    }
}
