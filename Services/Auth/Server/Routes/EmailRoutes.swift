import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/email`.
struct EmailRoutes {
    let addresses: EmailAddresses
    let clientInfo: ClientInfoReader
    let page: EmailLinkPage

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/email", use: change)
        routes.open.post("auth/email/resend", use: resend)
        routes.open.post("auth/email/verify", use: verify)
        routes.open.get("auth/email/verify", use: show)
    }

    func change(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: EmailDraft.self, context: context)
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        try await addresses.change(draft, by: context.identity, from: caller)
        return JSONResponse(Done())
    }

    func resend(request: Request, context: SuiteContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: VerificationRequest.self, context: context)
        try await addresses.resend(draft, from: clientInfo.caller(of: request, context))
        return JSONResponse(Done())
    }

    func verify(request: Request, context: SuiteContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: EmailVerification.self, context: context)
        try await addresses.verify(draft, by: context.identity, from: clientInfo.caller(of: request, context))
        return JSONResponse(Done())
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        page.response(to: request)
    }
}
