import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/password`.
struct PasswordRoutes {
    let changes: PasswordChanges
    let callers: Callers
    let page: LinkPage

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/password", use: change)
        routes.open.post("auth/password/forgot", use: forget)
        routes.open.post("auth/password/reset", use: reset)
        routes.open.get("auth/password/reset", use: show)
    }

    func change(request: Request, context: UserContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: PasswordChange.self, context: context)
        let caller = callers.caller(of: request, at: context.remoteAddress)
        try await changes.change(draft, by: context.identity, from: caller)
        return Reply(Done())
    }

    func forget(request: Request, context: SuiteContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: ForgottenPassword.self, context: context)
        try await changes.forget(draft, from: callers.caller(of: request, context))
        return Reply(Done())
    }

    func reset(request: Request, context: SuiteContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: PasswordReset.self, context: context)
        try await changes.reset(draft, from: callers.caller(of: request, context))
        return Reply(Done())
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        page.response(to: request)
    }
}
