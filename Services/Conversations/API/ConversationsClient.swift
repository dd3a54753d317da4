package import ServiceClient
package import Wire

/// The client for a signed-in user's requests; the `ServiceClient` carries the user's credential.
package struct ConversationsClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    package func create(_ draft: ConversationDraft) async throws -> Conversation {
        try await service.post("/conversations/create", draft)
    }

    package func list(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Conversation> {
        var query: [(String, String)] = []
        if let limit { query.append(("limit", "\(limit)")) }
        if let cursor { query.append(("cursor", cursor)) }
        return try await service.get("/conversations", query: query)
    }

    package func conversation(_ token: String) async throws -> Conversation {
        try await service.get(path(token))
    }

    package func delete(_ token: String) async throws {
        _ = try await service.delete(path(token), as: Removal.self)
    }

    package func search(_ query: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<FoundMessage> {
        var parameters = [("q", query)]
        if let limit { parameters.append(("limit", "\(limit)")) }
        if let cursor { parameters.append(("cursor", cursor)) }
        return try await service.get("/conversations/search", query: parameters)
    }

    @discardableResult
    package func join(_ token: String) async throws -> Conversation {
        try await service.post(path(token, "join"), EmptyBody())
    }

    @discardableResult
    package func leave(_ token: String) async throws -> Conversation {
        try await service.post(path(token, "leave"), EmptyBody())
    }

    package func renewToken(_ token: String) async throws -> Conversation {
        try await service.post(path(token, "token"), EmptyBody())
    }

    @discardableResult
    package func kick(_ user: String, from token: String) async throws -> Conversation {
        try await service.post(path(token, "kick"), Kick(userId: user))
    }

    @discardableResult
    package func setPush(_ isEnabled: Bool, in token: String) async throws -> Conversation {
        isEnabled ? try await service.put(path(token, "push")) : try await service.delete(path(token, "push"))
    }

    package func blocks(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Block> {
        var query: [(String, String)] = []
        if let limit { query.append(("limit", "\(limit)")) }
        if let cursor { query.append(("cursor", cursor)) }
        return try await service.get("/blocks", query: query)
    }

    @discardableResult
    package func block(_ user: String) async throws -> Block {
        try await service.put("/blocks/" + ServiceClient.percentEncoded(user))
    }

    package func unblock(_ user: String) async throws {
        _ = try await service.delete("/blocks/" + ServiceClient.percentEncoded(user), as: Removal.self)
    }

    package func send(_ draft: MessageDraft, to token: String) async throws -> Message {
        try await service.post(path(token, "messages"), draft)
    }

    /// Returns a part of the history; `query` has `before`, `page` and `count`, or `beforeSeq` or `afterSeq` and
    /// `count`.
    package func messages(_ token: String, query: [(String, String)] = []) async throws -> [Message] {
        try await service.get(path(token, "messages"), query: query, as: Page<Message>.self).items
    }

    @discardableResult
    package func edit(_ message: Message.ID, in token: String, to changes: MessageChanges) async throws -> Message {
        try await service.patch(path(token, "messages", "\(message)"), changes)
    }

    @discardableResult
    package func delete(_ message: Message.ID, in token: String) async throws -> Message {
        try await service.delete(path(token, "messages", "\(message)"))
    }

    @discardableResult
    package func react(_ emoji: String, to message: Message.ID, in token: String) async throws -> Message {
        try await service.put(path(token, "messages", "\(message)", "reactions", emoji))
    }

    @discardableResult
    package func unreact(_ emoji: String, to message: Message.ID, in token: String) async throws -> Message {
        try await service.delete(path(token, "messages", "\(message)", "reactions", emoji))
    }

    @discardableResult
    package func markRead(_ message: Message.ID, in token: String) async throws -> ReadMessage {
        try await service.post(path(token, "messages", "\(message)", "read"), EmptyBody())
    }

    @discardableResult
    package func markRead(before moment: Moment, in token: String) async throws -> ReadMark {
        try await service.post(path(token, "read"), ReadBefore(before: moment))
    }

    package func changes(_ token: String, after change: Int64, limit: Int? = nil) async throws -> Changes {
        var query = [("after", "\(change)")]
        if let limit { query.append(("limit", "\(limit)")) }
        return try await service.get(path(token, "changes"), query: query)
    }

    private func path(_ segments: String...) -> String {
        "/conversations/" + segments.map(ServiceClient.percentEncoded).joined(separator: "/")
    }

    private struct EmptyBody: Encodable {}
}
