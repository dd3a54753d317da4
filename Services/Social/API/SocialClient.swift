package import ServiceClient
import Wire

/// The client for the social service; the `ServiceClient` carries the caller's token or the operator's service token.
package struct SocialClient: Sendable {
    let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Re-encrypts all network tokens with the first key of `TOKEN_ENCRYPTION_KEY`.
    package func reencrypt() async throws -> ReencryptionReport {
        try await service.post("/internal/social/reencrypt", [String: String](), timeout: .seconds(120))
    }

    package func operatorCommunities() async throws -> [BroadcastCommunity] {
        try await service.get("/internal/social/communities", as: Page<BroadcastCommunity>.self).items
    }

    /// Adds a community to the list of official communities.
    package func operatorAddCommunity(_ name: String) async throws -> BroadcastCommunity {
        try await service.put("/internal/social/communities/\(ServiceClient.percentEncoded(name))")
    }

    package func operatorRemoveCommunity(_ name: String) async throws {
        let path = "/internal/social/communities/\(ServiceClient.percentEncoded(name))"
        _ = try await service.delete(path, as: [String: Bool].self)
    }
}
