import AuthAPI
import Credentials
import Hummingbird
import ServiceHost
import Wire

/// The internal routes of auth: users, keys, sessions and revocations for services, and the operator's commands.
struct InternalRoutes {
    let accounts: Accounts
    let keys: SigningKeys
    let feed: RevocationFeed
    let credentials: any CredentialSource
    let administrators: Administrators
    let pushSetups: PushSetups
    let applications: Applications

    func add(to routes: SuiteRoutes) {
        routes.internalRoutes(from: [.conversations, .photos]).get("users", use: findUsers)
        routes.internalRoutes(from: [.push]).get("applications/{id}/push", use: showPushCredentials)

        let verifiers = routes.internalRoutes(from: .services.union([.gateway]))
        verifiers.get("revocations", use: listRevocations)
        verifiers.get("sessions", use: findSessions)
        verifiers.get("application-keys", use: findApplicationKeys)

        let operatorCommand = routes.internalRoutes(from: [.operatorCommand])
        operatorCommand.get("keys", use: showKeys)
        operatorCommand.post("keys/rotate", use: rotateKeys)
        operatorCommand.get("applications", use: listApplications)
        operatorCommand.get("administrators", use: listAdministrators)
        operatorCommand.post("administrators/grant", use: grantAdministration)
        operatorCommand.post("administrators/revoke", use: revokeAdministration)
    }

    func findUsers(request: Request, context: InternalContext) async throws -> Page<UserSummary> {
        let application = try request.query("application") ?? RoostApplication.id
        return try await accounts.find(ids: request.queries("userId"), of: application)
    }

    func listRevocations(request: Request, context: InternalContext) async throws -> JSONResponse<RevocationPage> {
        JSONResponse(try await feed.page(after: request.number("after", in: 0...Int64.max)))
    }

    func findSessions(request: Request, context: InternalContext) async throws -> JSONResponse<KnownSessions> {
        let hashes = try request.queries("token")
        guard hashes.count <= KnownSessions.maximum else {
            throw APIError.invalid(
                "token",
                "at most \(KnownSessions.maximum) tokens per request are allowed",
                code: "too_many"
            )
        }
        var sessions = try await credentials.sessions(of: hashes)
        // Only conversations registers devices, so no other service receives a push token.
        if context.caller != InternalCaller.conversations.rawValue {
            for index in sessions.indices {
                (sessions[index].platform, sessions[index].pushToken) = (nil, nil)
            }
        }
        return JSONResponse(KnownSessions(sessions: sessions))
    }

    func findApplicationKeys(
        request: Request,
        context: InternalContext
    ) async throws -> JSONResponse<KnownApplicationKeys> {
        let names = try request.queries("key")
        guard names.count <= KnownApplicationKeys.maximum else {
            throw APIError.invalid(
                "key",
                "at most \(KnownApplicationKeys.maximum) keys per request are allowed",
                code: "too_many"
            )
        }
        return JSONResponse(KnownApplicationKeys(keys: try await credentials.applicationKeys(names)))
    }

    func showPushCredentials(request: Request, context: InternalContext) async throws -> Response {
        try .secret(await pushSetups.credentials(of: context.path("id")))
    }

    func showKeys(request: Request, context: InternalContext) async throws -> JSONResponse<KeyRotation> {
        JSONResponse(try await keys.status())
    }

    func listApplications(request: Request, context: InternalContext) async throws -> Page<CustomerApplication> {
        // A cursor is bound to the user who lists; the operator is not a user, so this id stands for them.
        let reader = User.ID(application: RoostApplication.id, user: "operator")
        return try await applications.list(by: reader, limit: request.limit(), cursor: request.query("cursor"))
    }

    func rotateKeys(request: Request, context: InternalContext) async throws -> JSONResponse<KeyRotation> {
        JSONResponse(try await keys.rotate())
    }

    func listAdministrators(request: Request, context: InternalContext) async throws -> Page<Administrator> {
        try await administrators.list()
    }

    func grantAdministration(request: Request, context: InternalContext) async throws -> JSONResponse<Administrator> {
        JSONResponse(try await administrators.grant(request.decode(as: AdministratorName.self, context: context)))
    }

    func revokeAdministration(request: Request, context: InternalContext) async throws -> JSONResponse<Done> {
        try await administrators.revoke(request.decode(as: AdministratorName.self, context: context))
        return JSONResponse(Done())
    }
}
