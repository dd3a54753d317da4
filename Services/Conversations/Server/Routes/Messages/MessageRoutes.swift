import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves the history, new messages, read marks and changes of a conversation.
struct MessageRoutes {
    let messages: Messages
    let files: Files

    func add(to routes: SuiteRoutes) {
        routes.user.get("conversations/:token/messages", use: list)
        routes.user.post("conversations/:token/messages", use: send)
        routes.user.post("conversations/:token/messages/:id/read", use: markMessageRead)
        routes.user.post("conversations/:token/read", use: markRead)
        routes.user.get("conversations/:token/changes", use: listChanges)
    }

    func list(request: Request, context: UserContext) async throws -> MessageResponse {
        MessageResponse(
            list: try await messages.history(context.conversation(), to: context.user, request.historySpan())
        )
    }

    func send(request: Request, context: UserContext) async throws -> MessageResponse {
        MessageResponse(try await MessageSendHandler(files: files).send(request, context: context))
    }

    func markMessageRead(request: Request, context: UserContext) async throws -> JSONResponse<ReadMessage> {
        JSONResponse(try await messages.markRead(context.message(), in: context.conversation(), by: context.user))
    }

    func markRead(request: Request, context: UserContext) async throws -> JSONResponse<ReadMark> {
        let moment = try await request.decode(as: ReadBefore.self, context: context).before
        return JSONResponse(try await messages.markRead(before: moment, in: context.conversation(), by: context.user))
    }

    func listChanges(request: Request, context: UserContext) async throws -> JSONResponse<Changes> {
        guard let after = try request.number("after", in: Request.counters) else { throw APIError.missing("after") }
        let token = try context.conversation()
        return JSONResponse(try await messages.changes(token, to: context.user, after: after, limit: request.limit()))
    }
}
