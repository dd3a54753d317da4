import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/oauth`: the standard endpoints of OAuth 2.0 and OpenID Connect.
struct OAuthRoutes {
    let tokens: TokenIntrospection
    let accounts: Accounts

    func add(to routes: SuiteRoutes) {
        routes.open.post("oauth/revoke", use: revoke)
        routes.standardRoutes(from: .services).post("oauth/introspect", use: introspect)
        routes.user.get("oauth/userinfo", use: showUser)
    }

    func revoke(request: Request, context: SuiteContext) async throws -> JSONResponse<Done> {
        try await tokens.revoke(request.decode(as: PresentedToken.self, context: context))
        return JSONResponse(Done())
    }

    func introspect(request: Request, context: InternalContext) async throws -> Response {
        try .secret(await tokens.status(of: request.decode(as: PresentedToken.self, context: context)))
    }

    func showUser(request: Request, context: UserContext) async throws -> Response {
        try .secret(UserInfo(await accounts.show(context.user)))
    }
}

extension PresentedToken: FormDecodable {}
