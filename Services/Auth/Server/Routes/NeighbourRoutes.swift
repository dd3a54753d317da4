import AuthAPI
import Credentials
import Hummingbird
import ServiceHost
import Wire

/// Serves `/internal`: what the other services ask of auth.
struct NeighbourRoutes {
    let accounts: Accounts
    let keys: SigningKeys
    let feed: RevocationFeed
    let credentials: any CredentialSource
    let administrators: Administrators
    let pushSetups: PushSetups
    let applications: Applications

    func add(to routes: SuiteRoutes) {
        routes.neighbour.get("users", use: findUsers)
        routes.neighbour.get("revocations", use: listRevocations)
        routes.neighbour.get("sessions", use: findSessions)
        routes.neighbour.get("application-keys", use: findApplicationKeys)
        routes.neighbour.get("applications/{id}/push", use: showPushCredentials)
        routes.neighbour.get("keys", use: showKeys)
        routes.neighbour.post("keys/rotate", use: rotateKeys)
        routes.neighbour.get("applications", use: listApplications)
        routes.neighbour.get("administrators", use: listAdministrators)
        routes.neighbour.post("administrators/grant", use: grantAdministration)
        routes.neighbour.post("administrators/revoke", use: revokeAdministration)
    }

    func findUsers(request: Request, context: NeighbourContext) async throws -> Page<UserSummary> {
        try await accounts.find(ids: request.queries("userId"))
    }

    func listRevocations(request: Request, context: NeighbourContext) async throws -> Reply<RevocationPage> {
        Reply(try await feed.page(after: request.number("after", in: 0...Int64.max)))
    }

    func findSessions(request: Request, context: NeighbourContext) async throws -> Reply<KnownSessions> {
        let hashes = try request.queries("token")
        guard hashes.count <= KnownSessions.maximum else {
            throw APIError.invalid("token", "at most \(KnownSessions.maximum) at a time", code: "too_many")
        }
        return Reply(KnownSessions(sessions: try await credentials.sessions(of: hashes)))
    }

    func findApplicationKeys(
        request: Request,
        context: NeighbourContext
    ) async throws -> Reply<KnownApplicationKeys> {
        let names = try request.queries("key")
        guard names.count <= KnownApplicationKeys.maximum else {
            throw APIError.invalid("key", "at most \(KnownApplicationKeys.maximum) at a time", code: "too_many")
        }
        return Reply(KnownApplicationKeys(keys: try await credentials.applicationKeys(names)))
    }

    func showPushCredentials(request: Request, context: NeighbourContext) async throws -> Response {
        try context.require("push", to: "hand over notifications")
        return try .secret(await pushSetups.credentials(of: context.path("id")))
    }

    func showKeys(request: Request, context: NeighbourContext) async throws -> Reply<KeyRotation> {
        try context.requireOperator()
        return Reply(try await keys.standing())
    }

    func listApplications(request: Request, context: NeighbourContext) async throws -> Page<CustomerApplication> {
        try context.requireOperator()
        // A cursor is its reader's own, and the operator is no user.
        let reader = User.ID(application: RoostApplication.id, user: "operator")
        return try await applications.list(by: reader, limit: request.limit(), cursor: request.query("cursor"))
    }

    func rotateKeys(request: Request, context: NeighbourContext) async throws -> Reply<KeyRotation> {
        try context.requireOperator()
        return Reply(try await keys.rotate())
    }

    func listAdministrators(request: Request, context: NeighbourContext) async throws -> Page<Administrator> {
        try context.requireOperator()
        return try await administrators.list()
    }

    func grantAdministration(request: Request, context: NeighbourContext) async throws -> Reply<Administrator> {
        try context.requireOperator()
        return Reply(try await administrators.grant(request.decode(as: AdministratorName.self, context: context)))
    }

    func revokeAdministration(request: Request, context: NeighbourContext) async throws -> Reply<Done> {
        try context.requireOperator()
        try await administrators.revoke(request.decode(as: AdministratorName.self, context: context))
        return Reply(Done())
    }
}

extension NeighbourContext {
    fileprivate func require(_ service: String, to purpose: String) throws {
        guard caller == service else {
            throw APIError(.forbidden, "\(service)_only", "this is for the service \(service), to \(purpose)")
        }
    }
}
