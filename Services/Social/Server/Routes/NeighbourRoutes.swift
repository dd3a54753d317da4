import Hummingbird
import ServiceHost
import SocialAPI

/// Serves the operator's commands for social.
struct NeighbourRoutes {
    let resealing: Resealing

    func add(to routes: SuiteRoutes) {
        routes.internalRoutes(from: [.operatorCommand]).post("social/reseal", use: reseal)
    }

    func reseal(request: Request, context: NeighbourContext) async throws -> Reply<ResealReport> {
        Reply(try await resealing.reseal())
    }
}
