import AuthAPI
import Credentials
import Hummingbird
import ServiceHost
import Wire

/// Serves `/applications` to each application's owner and to administrators.
struct ApplicationRoutes {
    let applications: Applications
    let deletions: ApplicationDeletions
    let pushSetups: PushSetups

    func add(to routes: SuiteRoutes) {
        routes.user.post("applications", use: create)
        routes.user.get("applications", use: list)
        routes.user.get("applications/{id}", use: show)
        routes.user.patch("applications/{id}", use: rename)
        routes.user.delete("applications/{id}", use: delete)
        routes.user.get("applications/{id}/keys", use: listKeys)
        routes.user.post("applications/{id}/keys", use: addKey)
        routes.user.delete("applications/{id}/keys/{keyId}", use: revokeKey)
        routes.user.get("applications/{id}/users", use: listUsers)
        routes.user.delete("applications/{id}/users/{userId}", use: deleteUser)
        routes.user.get("applications/{id}/push", use: showPush)
        routes.user.put("applications/{id}/push", use: changePush)
    }

    func create(request: Request, context: UserContext) async throws -> Response {
        let draft = try await request.decode(as: ApplicationDraft.self, context: context)
        return try .secret(await applications.create(draft, by: context.identity))
    }

    func list(request: Request, context: UserContext) async throws -> Page<CustomerApplication> {
        let (limit, cursor) = try (request.limit(), request.query("cursor"))
        if context.identity.isAdmin {
            return try await applications.list(by: context.user, limit: limit, cursor: cursor)
        }
        // A customer's users own no applications.
        guard context.user.isRoostUser else { throw Accounts.externalAccount }
        return try await applications.list(ownedBy: context.user, limit: limit, cursor: cursor)
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<CustomerApplication> {
        JSONResponse(try await applications.show(application(context)))
    }

    func rename(request: Request, context: UserContext) async throws -> JSONResponse<CustomerApplication> {
        let application = try await application(context)
        let draft = try await request.decode(as: ApplicationDraft.self, context: context)
        return JSONResponse(try await applications.rename(application, to: draft))
    }

    func delete(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        try await deletions.begin(application(context, includingDeleted: true))
        return JSONResponse(Done(), status: .accepted)
    }

    func listKeys(request: Request, context: UserContext) async throws -> Page<EncryptionKey> {
        try await applications.keys(of: application(context))
    }

    func addKey(request: Request, context: UserContext) async throws -> Response {
        try .secret(await applications.addKey(to: application(context)))
    }

    func revokeKey(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        try await applications.revokeKey(context.path("keyId"), of: application(context))
        return JSONResponse(Done())
    }

    func listUsers(request: Request, context: UserContext) async throws -> Page<ApplicationUser> {
        let application = try await application(context)
        return try await applications.users(
            of: application,
            query: request.query("query"),
            limit: request.limit(),
            cursor: request.query("cursor"),
            by: context.user
        )
    }

    func deleteUser(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        let application = try await application(context)
        try await applications.deleteUser(User.ID(application: application, user: context.path("userId")))
        return JSONResponse(Done())
    }

    func showPush(request: Request, context: UserContext) async throws -> JSONResponse<PushSetup> {
        JSONResponse(try await pushSetups.show(application(context)))
    }

    func changePush(request: Request, context: UserContext) async throws -> JSONResponse<PushSetup> {
        let application = try await application(context)
        let changes = try await request.decode(as: PushSetupChanges.self, context: context)
        return JSONResponse(try await pushSetups.change(changes, of: application))
    }

    /// Returns the application id of the path.
    ///
    /// - Throws: `application_not_found` unless the caller owns the application or is an administrator.
    private func application(_ context: UserContext, includingDeleted: Bool = false) async throws -> String {
        let application = try context.path("id")
        try await applications.authorize(application, for: context.identity, includingDeleted: includingDeleted)
        return application
    }
}
