package import ServiceClient
package import Wire

/// The client for the internal routes about blocks; the `ServiceClient` carries the caller's service token.
package struct BlocksClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Returns the users that a block in either direction separates from a user: at most 1,000, behind `last`.
    package func blockedPeers(from user: User.ID, after last: String? = nil) async throws -> BlockedPeers {
        var query = [("application", user.application), ("userId", user.user)]
        if let last { query.append(("after", last)) }
        return try await service.get("/internal/blocks", query: query)
    }

    /// Returns entries of the suite's whole block list: at most 1,000, behind `last`.
    package func list(after last: ListedBlock? = nil) async throws -> ListedBlocks {
        let query = last.map {
            [("application", $0.applicationId), ("userId", $0.userId), ("blockedId", $0.blockedId)]
        }
        return try await service.get("/internal/blocks/list", query: query ?? [])
    }
}
