import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/mfa` and `/auth/login/mfa`.
struct SecondFactorRoutes {
    let factors: SecondFactors
    let signIns: SignIns
    let clientInfo: ClientInfoReader

    func add(to routes: SuiteRoutes) {
        routes.user.post("auth/mfa/totp", use: begin)
        routes.user.post("auth/mfa/totp/confirm", use: confirm)
        routes.user.delete("auth/mfa/totp", use: remove)
        routes.open.post("auth/login/mfa", use: finish)
    }

    func begin(request: Request, context: UserContext) async throws -> Response {
        let draft = try await request.decodeOptional(as: TOTPDraft.self, context: context)
        return try .secret(await factors.begin(draft ?? TOTPDraft(), by: context.identity))
    }

    func confirm(request: Request, context: UserContext) async throws -> Response {
        let draft = try await request.decode(as: SecondFactorCode.self, context: context)
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        return try .secret(await factors.confirm(draft, by: context.identity, from: caller))
    }

    func remove(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let draft = try await request.decode(as: SecondFactorCode.self, context: context)
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        try await factors.remove(draft, by: context.identity, from: caller)
        return JSONResponse(Done())
    }

    func finish(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: SecondFactorLogin.self, context: context)
        return try .secret(await signIns.finish(draft, from: clientInfo.caller(of: request, context)))
    }
}
