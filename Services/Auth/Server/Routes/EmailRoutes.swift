import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/email`.
struct EmailRoutes {
    let addresses: EmailAddresses
    let callers: Callers
    let page: LinkPage

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/email", use: change)
        routes.open.post("auth/email/resend", use: resend)
        routes.open.post("auth/email/verify", use: verify)
        routes.open.get("auth/email/verify", use: show)
    }

    func change(request: Request, context: UserContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: EmailDraft.self, context: context)
        let caller = callers.caller(of: request, at: context.remoteAddress)
        try await addresses.change(draft, by: context.identity, from: caller)
        return Reply(Done())
    }

    func resend(request: Request, context: SuiteContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: VerificationRequest.self, context: context)
        try await addresses.resend(draft, from: callers.caller(of: request, context))
        return Reply(Done())
    }

    func verify(request: Request, context: SuiteContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: EmailVerification.self, context: context)
        try await addresses.verify(draft, by: context.identity, from: callers.caller(of: request, context))
        return Reply(Done())
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        page.response(to: request)
    }
}
