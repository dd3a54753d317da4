import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `join`, `leave`, `kick`, `members` and `admins` of a conversation.
struct MemberRoutes {
    let members: Members

    func add(to routes: SuiteRoutes) {
        routes.user.post("conversations/:token/join", use: join)
        routes.user.post("conversations/:token/leave", use: leave)
        routes.user.post("conversations/:token/kick", use: kick)
        routes.user.put("conversations/:token/members/:userId", use: addMember)
        routes.user.delete("conversations/:token/members/:userId", use: removeMember)
        routes.user.put("conversations/:token/admins/:userId", use: addAdmin)
        routes.user.delete("conversations/:token/admins/:userId", use: removeAdmin)
    }

    func join(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await members.join(context.conversation(), context.user))
    }

    func leave(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await members.leave(context.conversation(), context.user))
    }

    func kick(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        let user = try await request.decode(as: Kick.self, context: context).userId
        return JSONResponse(try await members.kick(user, from: context.conversation(), by: context.user))
    }

    func addMember(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await members.add(context.path("userId"), to: context.conversation(), by: context.user))
    }

    func removeMember(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await members.kick(context.path("userId"), from: context.conversation(), by: context.user))
    }

    func addAdmin(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(try await members.addAdmin(context.path("userId"), in: context.conversation(), by: context.user))
    }

    func removeAdmin(request: Request, context: UserContext) async throws -> JSONResponse<Conversation> {
        JSONResponse(
            try await members.removeAdmin(context.path("userId"), in: context.conversation(), by: context.user)
        )
    }
}
