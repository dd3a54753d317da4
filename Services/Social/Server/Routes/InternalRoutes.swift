import Hummingbird
import ServiceHost
import SocialAPI
import Wire

struct InternalRoutes {
    let reencryption: Reencryption
    let communities: BroadcastCommunities

    func add(to routes: SuiteRoutes) {
        let operatorCommand = routes.internalRoutes(from: [.operatorCommand])
        operatorCommand.post("social/reencrypt", use: reencrypt)
        operatorCommand.get("social/communities", use: listCommunities)
        operatorCommand.put("social/communities/:name", use: addCommunity)
        operatorCommand.delete("social/communities/:name", use: removeCommunity)
    }

    func reencrypt(request: Request, context: InternalContext) async throws -> JSONResponse<ReencryptionReport> {
        let report = try await reencryption.run()
        return JSONResponse(ReencryptionReport(reencrypted: report.encrypted, unreadable: report.unreadable))
    }

    func listCommunities(request: Request, context: InternalContext) async throws -> Page<BroadcastCommunity> {
        try await communities.list()
    }

    func addCommunity(request: Request, context: InternalContext) async throws -> JSONResponse<BroadcastCommunity> {
        JSONResponse(try await communities.add(context.path("name")))
    }

    func removeCommunity(request: Request, context: InternalContext) async throws -> JSONResponse<[String: Bool]> {
        try await communities.remove(context.path("name"))
        return JSONResponse(["success": true])
    }
}
