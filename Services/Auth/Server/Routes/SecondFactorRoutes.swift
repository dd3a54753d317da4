import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/mfa` and `/auth/login/mfa`.
struct SecondFactorRoutes {
    let factors: SecondFactors
    let signIns: SignIns
    let callers: Callers

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/mfa/totp", use: begin)
        routes.user.post("auth/mfa/totp/confirm", use: confirm)
        routes.user.delete("auth/mfa/totp", use: remove)
        routes.open.post("auth/login/mfa", use: finish)
    }

    func begin(request: Request, context: UserContext) async throws -> Response {
        let draft = try await request.decodeIfThere(as: TOTPDraft.self, context: context)
        return try .secret(await factors.begin(draft ?? TOTPDraft(), by: context.identity))
    }

    func confirm(request: Request, context: UserContext) async throws -> Response {
        let draft = try await request.decode(as: SecondFactorCode.self, context: context)
        let caller = callers.caller(of: request, at: context.remoteAddress)
        return try .secret(await factors.confirm(draft, by: context.identity, from: caller))
    }

    func remove(request: Request, context: UserContext) async throws -> Reply<Done> {
        let draft = try await request.decode(as: SecondFactorCode.self, context: context)
        let caller = callers.caller(of: request, at: context.remoteAddress)
        try await factors.remove(draft, by: context.identity, from: caller)
        return Reply(Done())
    }

    func finish(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: SecondFactorLogin.self, context: context)
        return try .secret(await signIns.finish(draft, from: callers.caller(of: request, context)))
    }
}
