import Hummingbird
import ServiceHost
import SocialAPI

/// Serves the operator's commands for social.
struct NeighbourRoutes {
    let reencryption: Reencryption

    func add(to routes: SuiteRoutes) {
        routes.internalRoutes(from: [.operatorCommand]).post("social/reseal", use: reseal)
    }

    func reseal(request: Request, context: NeighbourContext) async throws -> Reply<ResealReport> {
        let report = try await reencryption.run()
        return Reply(ResealReport(resealed: report.encrypted, unreadable: report.unreadable))
    }
}
