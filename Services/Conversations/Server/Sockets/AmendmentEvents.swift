import ConversationsAPI
import Wire

/// Handles the events `messages/…` that edit, delete and react to messages.
struct AmendmentEvents: Sendable {
    let lookup: ConversationLookup
    let messages: Messages

    func add(to events: inout SocketEvents) {
        events.on("messages/edit", use: edit)
        events.on("messages/delete", use: delete)
        events.on("messages/react", use: react)
    }

    func edit(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: MessageEdit.self)
        let id = try request.message.id()
        return try await lookup.withToken(id.conversation, of: call.user) { token in
            try SocketResponse(try await messages.edit(id, in: token, to: request.changes, by: call.user))
        }
    }

    func delete(call: SocketCall) async throws -> SocketResponse {
        let id = try call.decode(as: MessageReference.self).id()
        return try await lookup.withToken(id.conversation, of: call.user) { token in
            try SocketResponse(try await messages.delete(id, in: token, by: call.user))
        }
    }

    func react(call: SocketCall) async throws -> SocketResponse {
        let request = try call.decode(as: MessageReaction.self)
        let id = try request.message.id()
        let change = request.isRemoved ? messages.unreact : messages.react
        return try await lookup.withToken(id.conversation, of: call.user) { token in
            try SocketResponse(try await change(request.emoji, id, token, call.user))
        }
    }
}
