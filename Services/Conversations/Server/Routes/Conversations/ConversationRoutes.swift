import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/conversations`: create, list, show, change and delete.
struct ConversationRoutes {
    let conversations: Conversations

    func add(to routes: SuiteRoutes) {
        routes.user.post("conversations/create", use: create)
        routes.user.get("conversations", use: list)
        routes.user.get("conversations/:token", use: show)
        routes.user.delete("conversations/:token", use: delete)
        routes.user.post("conversations/:token/token", use: renewToken)
        routes.user.put("conversations/:token/label", use: replaceLabel)
        routes.user.put("conversations/:token/meta", use: replaceMeta)
        routes.user.put("conversations/:token/whiteList", use: replaceWhiteList)
        routes.user.put("conversations/:token/push", use: enablePush)
        routes.user.delete("conversations/:token/push", use: disablePush)
    }

    func create(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        let draft = try await request.decode(as: ConversationDraft.self, limits: .largeWithMeta, context: context)
        return JSONResponse(try await conversations.create(draft, by: context.user))
    }

    func list(request: Request, context: UserContext) async throws -> Page<Conversation> {
        try await conversations.list(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await conversations.show(context.conversation(), to: context.user))
    }

    func delete(request: Request, context: UserContext) async throws -> JSONResponse<Removal> {
        JSONResponse(try await conversations.delete(context.conversation(), by: context.user))
    }

    func renewToken(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await conversations.renewToken(context.conversation(), by: context.user))
    }

    func replaceLabel(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        let label = try await request.decode(as: LabelReplacement.self, context: context).label
        return JSONResponse(try await conversations.rename(context.conversation(), to: label, by: context.user))
    }

    func replaceMeta(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        let meta = try await request.decode(as: MetaReplacement.self, limits: .withMeta, context: context).meta
        return JSONResponse(try await conversations.replaceMeta(context.conversation(), with: meta, by: context.user))
    }

    func enablePush(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await conversations.setPush(true, in: context.conversation(), for: context.user))
    }

    func disablePush(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await conversations.setPush(false, in: context.conversation(), for: context.user))
    }

    func replaceWhiteList(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        let list = try await request.decode(as: WhiteListReplacement.self, limits: .large, context: context).whiteList
        return JSONResponse(
            try await conversations.replaceWhiteList(context.conversation(), with: list, by: context.user)
        )
    }
}
