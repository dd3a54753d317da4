import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/blocks`: whom somebody does not want to hear from; and tells other services of them.
struct BlockRoutes {
    let blocks: Blocks

    func add(to routes: SuiteRoutes) {
        routes.user.get("blocks", use: list)
        routes.user.put("blocks/:userId", use: add)
        routes.user.delete("blocks/:userId", use: remove)
        let photos = routes.internalRoutes(from: [.photos])
        photos.get("blocks", use: listKeptApart)
        photos.get("blocks/list", use: listAll)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Block> {
        try await blocks.list(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func add(request: Request, context: UserContext) async throws -> Reply<Block> {
        Reply(try await blocks.add(context.path("userId"), by: context.user))
    }

    func remove(request: Request, context: UserContext) async throws -> Reply<Removal> {
        Reply(try await blocks.remove(context.path("userId"), by: context.user))
    }

    func listKeptApart(request: Request, context: NeighbourContext) async throws -> Reply<KeptApart> {
        guard let application = try request.query("application") else { throw APIError.missing("application") }
        guard let user = try request.query("userId") else { throw APIError.missing("userId") }
        let id = User.ID(application: application, user: user)
        return Reply(try await blocks.keptApart(from: id, after: request.query("after")))
    }

    func listAll(request: Request, context: NeighbourContext) async throws -> Reply<ListedBlocks> {
        let last = ListedBlock(
            applicationId: try request.query("application") ?? "",
            userId: try request.query("userId") ?? "",
            blockedId: try request.query("blockedId") ?? ""
        )
        return Reply(try await blocks.list(after: last))
    }
}
