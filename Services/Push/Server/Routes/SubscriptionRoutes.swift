import Hummingbird
import PushAPI
import ServiceHost
import Wire

/// Serves `/subscriptions`, and the import of favourites by other services.
struct SubscriptionRoutes {
    let subscriptions: Subscriptions

    func add(to routes: SuiteRoutes) {
        routes.user.get("subscriptions", use: list)
        routes.user.get("subscriptions/:broadcaster", use: show)
        routes.user.put("subscriptions/:broadcaster", use: update)
        routes.user.delete("subscriptions/:broadcaster", use: remove)
        routes.internalRoutes(from: [.social]).post("subscriptions/import", use: importSubscriptions)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Subscription> {
        try await subscriptions.list(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Subscription> {
        JSONResponse(try await subscriptions.show(context.path("broadcaster"), to: context.user))
    }

    func update(request: Request, context: UserContext) async throws -> JSONResponse<Subscription> {
        let changes = try await request.decode(as: SubscriptionChanges.self, context: context)
        return JSONResponse(try await subscriptions.update(context.path("broadcaster"), changes, by: context.user))
    }

    func remove(request: Request, context: UserContext) async throws -> JSONResponse<SubscriptionRemoval> {
        JSONResponse(try await subscriptions.remove(context.path("broadcaster"), of: context.user))
    }

    func importSubscriptions(
        request: Request,
        context: InternalContext
    ) async throws -> JSONResponse<ImportedSubscriptions> {
        let found = try await request.decode(as: SubscriptionImport.self, context: context)
        return JSONResponse(try await subscriptions.add(found))
    }
}
