import ConversationsAPI
import Wire

/// Handles the events about typing, presences and missed changes.
struct PresenceEvents: Sendable {
    let lookup: ConversationLookup
    let conversations: Conversations
    let delivery: Delivery

    func add(to events: inout SocketEvents) {
        events.on("chats/typing", use: type)
        events.on("chats/detail", use: show)
        events.on("messages/sync", use: sync)
    }

    func type(call: SocketCall) async throws -> SocketResponse {
        let chat = try call.decode(as: ChatReference.self).chatId
        try await delivery.type(in: chat, by: call.caller.connection)
        return .done
    }

    func show(call: SocketCall) async throws -> SocketResponse {
        let chat = try call.decode(as: ChatReference.self).chatId
        let conversation = try await lookup.withToken(chat, of: call.user) {
            try await conversations.show($0, to: call.user)
        }
        let presences = try await delivery.presences.presences(in: chat, for: call.user)
        return try SocketResponse(ChatDetail(conversation, presences))
    }

    func sync(call: SocketCall) async throws -> SocketResponse {
        let query = try call.decode(as: SyncQuery.self)
        guard let changes = try await missed(query, by: call.user) else { throw Conversations.notFound }
        return SocketResponse(object: try CatchUp.json(changes, in: query.chatId))
    }

    private func missed(_ query: SyncQuery, by user: User.ID) async throws -> Changes? {
        let limit = try query.count()
        switch try query.start() {
        case .change(let change):
            return try await delivery.sync.missed(in: query.chatId, by: user, after: change, limit: limit)?.changes
        case .seq(let seq):
            return try await delivery.sync.missed(in: query.chatId, by: user, afterSeq: seq, limit: limit)
        }
    }
}
