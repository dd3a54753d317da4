import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/applications`, for administrators.
struct ApplicationRoutes {
    let applications: Applications
    let pushSetups: PushSetups

    func add(to routes: SuiteRoutes) {
        routes.user.post("applications", use: create)
        routes.user.get("applications", use: list)
        routes.user.post("applications/{id}/keys", use: addKey)
        routes.user.delete("applications/{id}/keys/{keyId}", use: revokeKey)
        routes.user.delete("applications/{id}/users/{userId}", use: deleteUser)
        routes.user.get("applications/{id}/push", use: showPush)
        routes.user.put("applications/{id}/push", use: changePush)
    }

    func create(request: Request, context: UserContext) async throws -> Response {
        try context.requireAdmin()
        let draft = try await request.decode(as: ApplicationDraft.self, context: context)
        return try .secret(await applications.create(draft))
    }

    func list(request: Request, context: UserContext) async throws -> Page<CustomerApplication> {
        try context.requireAdmin()
        return try await applications.list(
            by: context.user,
            limit: request.limit(),
            cursor: request.query("cursor")
        )
    }

    func addKey(request: Request, context: UserContext) async throws -> Response {
        try context.requireAdmin()
        return try .secret(await applications.addKey(to: context.path("id")))
    }

    func revokeKey(request: Request, context: UserContext) async throws -> Reply<Done> {
        try context.requireAdmin()
        try await applications.revokeKey(context.path("keyId"), of: context.path("id"))
        return Reply(Done())
    }

    func deleteUser(request: Request, context: UserContext) async throws -> Reply<Done> {
        try context.requireAdmin()
        try await applications.deleteUser(User.ID(application: context.path("id"), user: context.path("userId")))
        return Reply(Done())
    }

    func showPush(request: Request, context: UserContext) async throws -> Reply<PushSetup> {
        try context.requireAdmin()
        return Reply(try await pushSetups.show(context.path("id")))
    }

    func changePush(request: Request, context: UserContext) async throws -> Reply<PushSetup> {
        try context.requireAdmin()
        let changes = try await request.decode(as: PushSetupChanges.self, context: context)
        return Reply(try await pushSetups.change(changes, of: context.path("id")))
    }
}
