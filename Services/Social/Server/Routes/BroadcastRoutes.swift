import Credentials
import Hummingbird
import ServiceHost
import SocialAPI
import Wire

struct BroadcastRoutes {
    let broadcasts: BroadcastQueries
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
        try await broadcasts.live(for: Self.caller(request, context))
    }

    func listCommunities(request: Request, context: UserContext) async throws -> Page<BroadcastCommunity> {
        try await communities.list()
    }

    func addCommunity(request: Request, context: UserContext) async throws -> JSONResponse<BroadcastCommunity> {
        try context.requireAdmin()
        return JSONResponse(try await communities.add(context.path("name")))
    }

    func removeCommunity(request: Request, context: UserContext) async throws -> JSONResponse<[String: Bool]> {
        try context.requireAdmin()
        try await communities.remove(context.path("name"))
        return JSONResponse(["success": true])
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Broadcast> {
        JSONResponse(try await broadcasts.show(context.path("broadcast"), for: Self.caller(request, context)))
    }

    func importFollows(request: Request, context: UserContext) async throws -> JSONResponse<FollowImport> {
        JSONResponse(try await imports.run(for: Self.caller(request, context)))
    }

    private static func caller(_ request: Request, _ context: UserContext) throws -> Caller {
        Caller(user: context.user, credential: try Credential(request.headers)?.token ?? "")
    }
}
