import Credentials
import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Serves `/broadcasts`.
struct BroadcastRoutes {
    let lists: BroadcastLists
    let imports: FollowImports

    func add(to routes: SuiteRoutes) {
        routes.user.get("broadcasts", use: list)
        routes.user.get("broadcasts/communities", use: communities)
        routes.user.get("broadcasts/:broadcast", use: show)
        routes.user.post("broadcasts/import", use: importFollows)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Broadcast> {
        try await lists.live(for: Self.asker(request, context))
    }

    func communities(request: Request, context: UserContext) async throws -> Page<BroadcastCommunity> {
        try await lists.communities()
    }

    func show(request: Request, context: UserContext) async throws -> Reply<Broadcast> {
        Reply(try await lists.one(context.path("broadcast"), for: Self.asker(request, context)))
    }

    func importFollows(request: Request, context: UserContext) async throws -> Reply<FollowImport> {
        Reply(try await imports.run(for: Self.asker(request, context)))
    }

    private static func asker(_ request: Request, _ context: UserContext) throws -> Asker {
        Asker(user: context.user, credential: try Credential(request.headers)?.token ?? "")
    }
}
