import AuthAPI
import Credentials
import Hummingbird
import ServiceHost
import Wire

/// Serves `/internal`: what the other services ask of auth.
struct NeighbourRoutes {
    let accounts: Accounts
    let keys: SigningKeys
    let feed: RevocationFeed

    func add(to routes: SuiteRoutes) {
        routes.neighbour.get("users", use: findUsers)
        routes.neighbour.get("revocations", use: listRevocations)
        routes.neighbour.post("keys/rotate", use: rotateKeys)
    }

    func findUsers(request: Request, context: NeighbourContext) async throws -> Page<UserSummary> {
        try await accounts.find(ids: request.queries("userId"))
    }

    func listRevocations(request: Request, context: NeighbourContext) async throws -> Reply<RevocationPage> {
        Reply(try await feed.page(after: request.number("after", in: 0...Int64.max)))
    }

    func rotateKeys(request: Request, context: NeighbourContext) async throws -> Reply<KeyRotation> {
        guard context.caller == "roost" else {
            throw APIError(.forbidden, "operator_only", "keys are rotated by the operator's command")
        }
        return Reply(try await keys.rotate())
    }
}
