import AuthAPI
import Credentials
import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/identities`: signing in by accounts elsewhere.
struct IdentityRoutes {
    let identities: Identities
    let consents: Consents
    let credentials: CredentialVerifier
    let callers: Callers

    func add(to routes: SuiteRoutes) {
        routes.open.post("auth/identities/{provider}", use: signIn)
        routes.open.post("auth/identities/{provider}/authorizations", use: begin)
        routes.open.get("auth/identities/{provider}/callback", use: back)
        routes.open.post("auth/identities/{provider}/callback", use: backByForm)
        routes.user.get("auth/identities", use: list)
        routes.user.delete("auth/identities/{provider}", use: unlink)
    }

    func signIn(request: Request, context: SuiteContext) async throws -> Response {
        // As with a registration, a bad credential would make a second account where one was to be linked.
        let asking = try Credential(request.headers) == nil ? nil : try await credentials.identity(of: request.headers)
        let draft = try await request.decode(as: IdentityDraft.self, context: context)
        let caller = callers.caller(of: request, context)
        let step = try await identities.signIn(draft, at: context.path("provider"), by: asking, from: caller)
        return try step.response(requestID: context.requestID)
    }

    func begin(request: Request, context: SuiteContext) async throws -> Response {
        let draft = try await request.decode(as: ConsentDraft.self, context: context)
        return try .secret(await consents.begin(draft, at: context.path("provider")))
    }

    func back(request: Request, context: SuiteContext) async throws -> Response {
        let answer = ConsentAnswer(
            state: try request.query("state"),
            code: try request.query("code"),
            iss: try request.query("iss")
        )
        return .onward(to: try await consents.back(from: context.path("provider"), with: answer))
    }

    func backByForm(request: Request, context: SuiteContext) async throws -> Response {
        let answer = try await request.decode(as: ConsentAnswer.self, context: context)
        return .onward(to: try await consents.back(from: context.path("provider"), with: answer))
    }

    func list(request: Request, context: UserContext) async throws -> Page<LinkedIdentity> {
        try await identities.list(of: context.user)
    }

    func unlink(request: Request, context: UserContext) async throws -> Reply<Done> {
        let caller = callers.caller(of: request, at: context.remoteAddress)
        try await identities.unlink(context.path("provider"), by: context.identity, from: caller)
        return Reply(Done())
    }
}

extension Response {
    /// Sends a browser on by GET, and tells nobody where it was: codes are in the addresses.
    fileprivate static func onward(to url: String) -> Response {
        Response(
            status: .seeOther,
            headers: [.location: url, .cacheControl: "no-store", .referrerPolicy: "no-referrer"]
        )
    }
}
