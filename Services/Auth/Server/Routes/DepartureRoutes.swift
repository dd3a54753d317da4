import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `DELETE /auth/me`, and the operator's list of pending account deletions.
struct DepartureRoutes {
    let erasure: AccountErasure
    let departures: Departures

    func add(to routes: SuiteRoutes) {
        routes.user.delete("auth/me", use: delete)
        routes.internalRoutes(from: [.operatorCommand]).get("deletions", use: list)
    }

    func delete(request: Request, context: UserContext) async throws -> Reply<Done> {
        let deletion = try await request.decodeIfThere(as: AccountDeletion.self, context: context)
        try await erasure.delete(deletion ?? AccountDeletion(), by: context.identity)
        return Reply(Done(), status: .accepted)
    }

    func list(request: Request, context: NeighbourContext) async throws -> Page<PendingDeparture> {
        try await departures.list()
    }
}
