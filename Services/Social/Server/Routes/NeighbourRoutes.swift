import Hummingbird
import ServiceHost
import SocialAPI

/// Serves what the operator's command asks of social.
struct NeighbourRoutes {
    let resealing: Resealing

    func add(to routes: SuiteRoutes) {
        routes.neighbour.post("social/reseal", use: reseal)
    }

    func reseal(request: Request, context: NeighbourContext) async throws -> Reply<ResealReport> {
        try context.requireOperator()
        return Reply(try await resealing.reseal())
    }
}
