import ServiceClient
import Wire

extension SocialClient {
    /// What is live, favourites first, and then by watchers.
    package func broadcasts() async throws -> [Broadcast] {
        try await service.get("/broadcasts", as: Page<Broadcast>.self).things
    }

    package func broadcast(_ id: String) async throws -> Broadcast {
        try await service.get("/broadcasts/\(ServiceClient.percentEncoded(id))")
    }

    package func communities() async throws -> [BroadcastCommunity] {
        try await service.get("/broadcasts/communities", as: Page<BroadcastCommunity>.self).things
    }

    /// Makes favourites of those whom the caller follows on Reddit.
    package func importFollows() async throws -> FollowImport {
        try await service.post("/broadcasts/import", [String: String](), timeout: .seconds(60))
    }
}
