import Credentials
import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Serves `/broadcasts`.
struct BroadcastRoutes {
    let lists: BroadcastLists
    let communities: BroadcastCommunities
    let imports: FollowImports

    func add(to routes: SuiteRoutes) {
        routes.user.get("broadcasts", use: list)
        routes.user.get("broadcasts/communities", use: listCommunities)
        routes.user.put("broadcasts/communities/:name", use: addCommunity)
        routes.user.delete("broadcasts/communities/:name", use: removeCommunity)
        routes.user.get("broadcasts/:broadcast", use: show)
        routes.user.post("broadcasts/import", use: importFollows)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Broadcast> {
        try await lists.live(for: Self.asker(request, context))
    }

    func listCommunities(request: Request, context: UserContext) async throws -> Page<BroadcastCommunity> {
        try await communities.list()
    }

    func addCommunity(request: Request, context: UserContext) async throws -> Reply<BroadcastCommunity> {
        try context.requireAdmin()
        return Reply(try await communities.add(context.path("name")))
    }

    func removeCommunity(request: Request, context: UserContext) async throws -> Reply<[String: Bool]> {
        try context.requireAdmin()
        try await communities.remove(context.path("name"))
        return Reply(["success": true])
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
