import ServiceClient
import Wire

extension SocialClient {
    /// Returns the live broadcasts: favourites first, then by number of viewers.
    package func broadcasts() async throws -> [Broadcast] {
        try await service.get("/broadcasts", as: Page<Broadcast>.self).items
    }

    package func broadcast(_ id: String) async throws -> Broadcast {
        try await service.get("/broadcasts/\(ServiceClient.percentEncoded(id))")
    }

    package func communities() async throws -> [BroadcastCommunity] {
        try await service.get("/broadcasts/communities", as: Page<BroadcastCommunity>.self).items
    }

    /// Adds a community to the operator's list, as an administrator.
    package func addCommunity(_ name: String) async throws -> BroadcastCommunity {
        try await service.put("/broadcasts/communities/\(ServiceClient.percentEncoded(name))")
    }

    /// Removes a community, as an administrator.
    package func removeCommunity(_ name: String) async throws {
        let path = "/broadcasts/communities/\(ServiceClient.percentEncoded(name))"
        _ = try await service.delete(path, as: [String: Bool].self)
    }

    /// Adds the Reddit users that the caller follows as favourites.
    package func importFollows() async throws -> FollowImport {
        try await service.post("/broadcasts/import", [String: String](), timeout: .seconds(60))
    }
}
