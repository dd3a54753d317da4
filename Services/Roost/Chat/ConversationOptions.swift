import ArgumentParser
import AuthAPI
import ConversationsAPI
import ServiceClient
import Wire

struct ConversationOptions: ParsableArguments {
    @Option(help: "The conversation's token; you join it if you are not a member.") var conversation: String?
    @Option(help: "The label of a new conversation; its token is then shown.") var new: String?
    @Option(help: "The username of the other member of a direct conversation.") var with: String?

    func validate() throws {
        guard [conversation, new, with].compactMap(\.self).count <= 1 else {
            throw ValidationError("--conversation, --new and --with exclude one another")
        }
    }

    /// Returns the selected conversation; without a selection, lists all conversations and returns nil.
    func conversation(of account: ChatAccount) async throws -> Conversation? {
        do {
            if let conversation { return try await join(conversation, account) }
            if let new { return try await create(ConversationDraft(label: new), account) }
            if let with { return try await createDirect(with, account) }
        } catch let error as APIError {
            throw Workspace.Problem(error.message)
        }
        try await list(account)
        return nil
    }

    private func join(_ token: String, _ account: ChatAccount) async throws -> Conversation {
        do {
            return try await account.conversations.conversation(token)
        } catch let error as APIError where error.kind == .notFound {
            return try await account.conversations.join(token)
        }
    }

    private func create(_ draft: ConversationDraft, _ account: ChatAccount) async throws -> Conversation {
        let created = try await account.conversations.create(draft)
        ChatScreen.showStatus("the token of this conversation is \(created.token)")
        return created
    }

    private func createDirect(_ username: String, _ account: ChatAccount) async throws -> Conversation {
        guard let other = try await account.users(named: username).first else {
            throw Workspace.Problem("there is no user \(username)")
        }
        await account.rememberName(username, of: other.userId)
        let draft = ConversationDraft(members: [other.userId], type: Conversation.Kind.direct.rawValue)
        return try await account.conversations.create(draft)
    }

    private func list(_ account: ChatAccount) async throws {
        let page = try await account.conversations.list(limit: 100)
        for conversation in page.items {
            ChatScreen.show("\(conversation.token)  \(PlainText.of(conversation.label))")
        }
        ChatScreen.showStatus(
            page.items.isEmpty ? "you have no conversations; --new LABEL creates one" : "--conversation TOKEN opens one"
        )
    }
}
