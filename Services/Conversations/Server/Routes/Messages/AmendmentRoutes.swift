import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves editing, deleting and reactions of messages.
struct AmendmentRoutes {
    let messages: Messages

    func add(to routes: SuiteRoutes) {
        routes.user.patch("conversations/:token/messages/:id", use: edit)
        routes.user.delete("conversations/:token/messages/:id", use: delete)
        routes.user.put("conversations/:token/messages/:id/reactions/:emoji", use: react)
        routes.user.delete("conversations/:token/messages/:id/reactions/:emoji", use: unreact)
    }

    func edit(request: Request, context: UserContext) async throws -> MessageResponse {
        let changes = try await request.decode(as: MessageChanges.self, limits: .largeWithMeta, context: context)
        let (message, token) = (try context.message(), try context.conversation())
        return MessageResponse(try await messages.edit(message, in: token, to: changes, by: context.user))
    }

    func delete(request: Request, context: UserContext) async throws -> MessageResponse {
        MessageResponse(try await messages.delete(context.message(), in: context.conversation(), by: context.user))
    }

    func react(request: Request, context: UserContext) async throws -> MessageResponse {
        let (message, token) = (try context.message(), try context.conversation())
        return MessageResponse(
            try await messages.react(context.path("emoji"), to: message, in: token, by: context.user)
        )
    }

    func unreact(request: Request, context: UserContext) async throws -> MessageResponse {
        let (message, token) = (try context.message(), try context.conversation())
        return MessageResponse(
            try await messages.unreact(context.path("emoji"), to: message, in: token, by: context.user)
        )
    }
}
