import AuthAPI
import Credentials
import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/identities`: sign-in with external providers.
struct IdentityRoutes {
    let identities: Identities
    let consents: Consents
    let credentials: CredentialVerifier
    let clientInfo: ClientInfoReader

    func add(to routes: SuiteRoutes) {
        routes.open.post("auth/identities/{provider}", use: signIn)
        routes.open.post("auth/identities/{provider}/authorizations", use: begin)
        routes.open.get("auth/identities/{provider}/callback", use: handleCallback)
        routes.open.post("auth/identities/{provider}/callback", use: handleFormCallback)
        routes.user.get("auth/identities", use: list)
        routes.user.delete("auth/identities/{provider}", use: unlink)
    }

    func signIn(request: Request, context: SuiteContext) async throws -> Response {
        // As in registration, ignoring an invalid credential would create a second account instead of linking this one.
        let requester =
            try Credential(request.headers) == nil ? nil : try await credentials.identity(of: request.headers)
        let draft = try await request.decode(as: IdentityDraft.self, context: context)
        let caller = clientInfo.caller(of: request, context)
        let step = try await identities.signIn(draft, at: context.path("provider"), by: requester, from: caller)
        return try step.response(requestID: context.requestID)
    }

    func begin(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: ConsentDraft.self, context: context)
        return try .secret(await consents.begin(draft, at: context.path("provider")))
    }

    func handleCallback(request: Request, context: SuiteContext) async throws -> Response {
        let response = ConsentResponse(
            state: try request.query("state"),
            code: try request.query("code"),
            iss: try request.query("iss")
        )
        return .seeOther(to: try await consents.handleCallback(from: context.path("provider"), with: response))
    }

    func handleFormCallback(request: Request, context: SuiteContext) async throws -> Response {
        let response = try await request.decode(as: ConsentResponse.self, context: context)
        return .seeOther(to: try await consents.handleCallback(from: context.path("provider"), with: response))
    }

    func list(request: Request, context: UserContext) async throws -> Page<LinkedIdentity> {
        try await identities.list(of: context.user)
    }

    func unlink(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let caller = clientInfo.caller(of: request, at: context.remoteAddress)
        try await identities.unlink(context.path("provider"), by: context.identity, from: caller)
        return JSONResponse(Done())
    }
}

extension Response {
    /// Redirects a browser with GET and no referrer, because the URLs contain codes.
    fileprivate static func seeOther(to url: String) -> Response {
        Response(
            status: .seeOther,
            headers: [.location: url, .cacheControl: "no-store", .referrerPolicy: "no-referrer"]
        )
    }
}
