import ConversationsAPI
import Wire

/// Answers `messages/…`: what is said and read.
struct MessageEvents: Sendable {
    let ids: ConversationIDs
    let messages: Messages
    let files: Files
    let directs: DirectMessages

    func add(to events: inout SocketEvents) {
        events.on("messages/create", use: create)
        events.on("messages/sendDirect", use: sendDirect)
        events.on("messages/list", use: list)
        events.on("messages/markAsRead", use: markAsRead)
        events.on("messages/markAllAsReadBefore", use: markAllAsReadBefore)
    }

    func create(call: SocketCall) async throws -> SocketAnswer {
        try await files.reading(call.size, of: call.user) {
            let request = try call.decode(as: InChat<MessageDraft>.self, limits: .withFile)
            return try await ids.use(request.chatId, of: call.user) { token in
                let connection = call.caller.connection
                return try SocketAnswer(
                    try await files.say(request.content, to: token, by: call.user, through: connection)
                )
            }
        }
    }

    func sendDirect(call: SocketCall) async throws -> SocketAnswer {
        try await files.reading(call.size, of: call.user) {
            let request = try call.decode(as: DirectMessageDraft.self, limits: .withFile)
            let connection = call.caller.connection
            return try SocketAnswer(
                try await directs.say(request.draft, to: request.userId, by: call.user, through: connection)
            )
        }
    }

    func list(call: SocketCall) async throws -> SocketAnswer {
        let request = try call.decode(as: InChat<HistoryQuery>.self)
        let span = try request.content.span()
        return try await ids.use(request.chatId, of: call.user) { token in
            try SocketAnswer(list: try await messages.history(token, to: call.user, span))
        }
    }

    func markAsRead(call: SocketCall) async throws -> SocketAnswer {
        let id = try call.decode(as: MessageReference.self).id()
        return try await ids.use(id.conversation, of: call.user) { token in
            try SocketAnswer(try await messages.markRead(id, in: token, by: call.user))
        }
    }

    func markAllAsReadBefore(call: SocketCall) async throws -> SocketAnswer {
        let request = try call.decode(as: ChatReadBefore.self)
        return try await ids.use(request.chatId, of: call.user) { token in
            try SocketAnswer(try await messages.markRead(before: request.before, in: token, by: call.user))
        }
    }
}
