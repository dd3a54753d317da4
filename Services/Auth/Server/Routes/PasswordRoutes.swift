import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/password`.
struct PasswordRoutes {
    let changes: PasswordChanges
    let clientInfo: ClientInfoReader
    let page: EmailLinkPage

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/password", use: change)
        routes.open.post("auth/password/forgot", use: requestReset)
        routes.open.post("auth/password/reset", use: reset)
        routes.open.get("auth/password/reset", use: show)
    }

    func change(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: PasswordChange.self, context: context)
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        try await changes.change(draft, by: context.identity, from: caller)
        return JSONResponse(Done())
    }

    func requestReset(request: Request, context: SuiteContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: PasswordResetRequest.self, context: context)
        try await changes.requestReset(draft, from: clientInfo.caller(of: request, context))
        return JSONResponse(Done())
    }

    func reset(request: Request, context: SuiteContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: PasswordReset.self, context: context)
        try await changes.reset(draft, from: clientInfo.caller(of: request, context))
        return JSONResponse(Done())
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        page.response(to: request)
    }
}
