import ConversationsAPI
import Wire

/// Handles the events `messages/…` that send, list and read messages.
struct MessageEvents: Sendable {
    let lookup: ConversationLookup
    let messages: Messages
    let files: Files
    let directMessages: DirectMessages

    func add(to events: inout SocketEvents) {
        events.on("messages/create", use: create)
        events.on("messages/sendDirect", use: sendDirect)
        events.on("messages/list", use: list)
        events.on("messages/markAsRead", use: markAsRead)
        events.on("messages/markAllAsReadBefore", use: markAllAsReadBefore)
    }

    func create(call: SocketCall) async throws -> SocketResponse {
        try await files.withTextSlot(call.size, of: call.user) {
            let request = try call.decode(as: InChat<MessageDraft>.self, limits: .withFile)
            return try await lookup.withToken(request.chatId, of: call.user) { token in
                let connection = call.caller.connection
                return try SocketResponse(
                    try await files.send(request.content, to: token, by: call.user, through: connection)
                )
            }
        }
    }

    func sendDirect(call: SocketCall) async throws -> SocketResponse {
        try await files.withTextSlot(call.size, of: call.user) {
            let request = try call.decode(as: DirectMessageDraft.self, limits: .withFile)
            let connection = call.caller.connection
            return try SocketResponse(
                try await directMessages.send(request.draft, to: request.userId, by: call.user, through: connection)
            )
        }
    }

    func list(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: InChat<HistoryQuery>.self)
        let span = try request.content.span()
        return try await lookup.withToken(request.chatId, of: call.user) { token in
            try SocketResponse(list: try await messages.history(token, to: call.user, span))
        }
    }

    func markAsRead(call: SocketCall) async throws -> SocketResponse {
        let id = try call.decode(as: MessageReference.self).id()
        return try await lookup.withToken(id.conversation, of: call.user) { token in
            try SocketResponse(try await messages.markRead(id, in: token, by: call.user))
        }
    }

    func markAllAsReadBefore(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: ChatReadBefore.self)
        return try await lookup.withToken(request.chatId, of: call.user) { token in
            try SocketResponse(try await messages.markRead(before: request.before, in: token, by: call.user))
        }
    }
}
