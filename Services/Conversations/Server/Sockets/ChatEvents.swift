import ConversationsAPI
import Wire

/// Handles the events `chats/…`: creating, listing, joining and changing chats, which are conversations elsewhere.
struct ChatEvents: Sendable {
    let lookup: ConversationLookup
    let conversations: Conversations
    let members: Members
    let blocks: Blocks

    func add(to events: inout SocketEvents) {
        events.on("chats/list", use: list)
        events.on("chats/create", use: create)
        events.on("chats/join", use: join)
        events.on("chats/leave", use: leave)
        events.on("chats/addMember", use: addMember)
        events.on("chat/kick", "chats/kick", use: kick)
        events.on("chats/meta/update", "chats/updateMeta", use: replaceMeta)
        events.on("chats/whiteList/update", "chat/whiteList/update", use: replaceWhiteList)
        events.on("chats/subscribe", use: subscribe)
        events.on("chats/unsubscribe", use: unsubscribe)
        events.on("chats/block", use: block)
        events.on("chats/unblock", use: unblock)
    }

    func list(call: SocketCall) async throws -> SocketResponse {
        let query = try call.decode(as: ChatQuery.self)
        let (type, limit) = (try query.kind(), try query.count())
        let page = try await conversations.list(of: call.user, type: type, limit: limit, cursor: query.cursor)
        return try SocketResponse(ChatList(page))
    }

    func create(call: SocketCall) async throws -> SocketResponse {
        let draft = try call.decode(as: ChatDraft.self).draft
        return try SocketResponse(try await conversations.create(draft, by: call.user, mayBeUnnamed: true))
    }

    func join(call: SocketCall) async throws -> SocketResponse {
        try await change(call) { try await members.join($0, call.user, byID: true) }
    }

    func leave(call: SocketCall) async throws -> SocketResponse {
        try await change(call) { try await members.leave($0, call.user) }
    }

    func addMember(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: InChat<UserReference>.self)
        return try await change(request.chatId, by: call.user) {
            try await members.add(request.content.userId, to: $0, by: call.user)
        }
    }

    func kick(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: InChat<UserReference>.self)
        return try await change(request.chatId, by: call.user) {
            try await members.kick(request.content.userId, from: $0, by: call.user)
        }
    }

    func replaceMeta(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: InChat<MetaReplacement>.self)
        return try await change(request.chatId, by: call.user) {
            try await conversations.replaceMeta($0, with: request.content.meta, by: call.user)
        }
    }

    func replaceWhiteList(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: InChat<WhiteListReplacement>.self)
        return try await change(request.chatId, by: call.user) {
            try await conversations.replaceWhiteList($0, with: request.content.whiteList, by: call.user)
        }
    }

    func subscribe(call: SocketCall) async throws -> SocketResponse {
        try await change(call) { try await conversations.setPush(true, in: $0, for: call.user) }
    }

    func unsubscribe(call: SocketCall) async throws -> SocketResponse {
        try await change(call) { try await conversations.setPush(false, in: $0, for: call.user) }
    }

    func block(call: SocketCall) async throws -> SocketResponse {
        try await change(call) { try await blocks.block(peerIn: $0, by: call.user, conversations) }
    }

    func unblock(call: SocketCall) async throws -> SocketResponse {
        try await change(call) { try await blocks.unblock(peerIn: $0, by: call.user, conversations) }
    }

    /// Runs `body` with the chat that the request names, and responds with the chat.
    private func change(
        _ call: SocketCall,
        _ body: (ConversationToken) async throws -> Conversation
    ) async throws -> SocketResponse {
        try await change(call.decode(as: ChatReference.self).chatId, by: call.user, body)
    }

    private func change(
        _ chat: Conversation.ID,
        by user: User.ID,
        _ body: (ConversationToken) async throws -> Conversation
    ) async throws -> SocketResponse {
        try SocketResponse(try await lookup.withToken(chat, of: user, body))
    }
}
