import AuthAPI
import Credentials
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/anonymous`, `/auth/login`, `/auth/refresh` and `/auth/logout`.
struct SignInRoutes {
    let signIns: SignIns
    let sessions: Sessions
    let clientInfo: ClientInfoReader

    func add(to routes: SuiteRoutes) {
        routes.open.post("auth/anonymous", use: anonymous)
        routes.open.post("auth/login", use: login)
        routes.open.post("auth/refresh", use: refresh)
        routes.user.post("auth/logout", use: logout)
    }

    func anonymous(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decodeOptional(as: AnonymousDraft.self, context: context) ?? AnonymousDraft()
        let caller = clientInfo.caller(of: request, context)
        return try .secret(await signIns.anonymous(draft, by: context.identity?.user, from: caller))
    }

    func login(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: LoginDraft.self, context: context)
        let step = try await signIns.login(draft, from: clientInfo.caller(of: request, context))
        return try step.response(requestID: context.requestID)
    }

    func refresh(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: RefreshDraft.self, context: context)
        return try .secret(await sessions.refresh(draft))
    }

    func logout(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        try await sessions.logout(context.identity)
        return JSONResponse(Done())
    }
}
