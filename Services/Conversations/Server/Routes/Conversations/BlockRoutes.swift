import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves a user's block list at `/blocks`, and all block lists to other services.
struct BlockRoutes {
    let blocks: Blocks

    func add(to routes: SuiteRoutes) {
        routes.user.get("blocks", use: list)
        routes.user.put("blocks/:userId", use: add)
        routes.user.delete("blocks/:userId", use: remove)
        let photos = routes.internalRoutes(from: [.photos])
        photos.get("blocks", use: listBlockedPeers)
        photos.get("blocks/list", use: listAll)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Block> {
        try await blocks.list(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func add(request: Request, context: UserContext) async throws -> JSONResponse<Block> {
        JSONResponse(try await blocks.add(context.path("userId"), by: context.user))
    }

    func remove(request: Request, context: UserContext) async throws -> JSONResponse<Removal> {
        JSONResponse(try await blocks.remove(context.path("userId"), by: context.user))
    }

    func listBlockedPeers(request: Request, context: InternalContext) async throws -> JSONResponse<BlockedPeers> {
        guard let application = try request.query("application") else { throw APIError.missing("application") }
        guard let user = try request.query("userId") else { throw APIError.missing("userId") }
        let id = User.ID(application: application, user: user)
        return JSONResponse(try await blocks.blockedPeers(from: id, after: request.query("after")))
    }

    func listAll(request: Request, context: InternalContext) async throws -> JSONResponse<ListedBlocks> {
        let last = ListedBlock(
            applicationId: try request.query("application") ?? "",
            userId: try request.query("userId") ?? "",
            blockedId: try request.query("blockedId") ?? ""
        )
        return JSONResponse(try await blocks.list(after: last))
    }
}
