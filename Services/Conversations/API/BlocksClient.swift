package import ServiceClient
package import Wire

/// What another service asks about blocks; the `ServiceClient` carries its service token.
package struct BlocksClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Those kept apart from a user, whoever of the two blocked the other; at most 1,000 at a time.
    package func blockedPeers(from user: User.ID, after last: String? = nil) async throws -> BlockedPeers {
        var query = [("application", user.application), ("userId", user.user)]
        if let last { query.append(("after", last)) }
        return try await service.get("/internal/blocks", query: query)
    }

    /// The suite's whole list, at most 1,000 entries at a time, each time those behind the last one that was had.
    package func list(after last: ListedBlock? = nil) async throws -> ListedBlocks {
        let query = last.map {
            [("application", $0.applicationId), ("userId", $0.userId), ("blockedId", $0.blockedId)]
        }
        return try await service.get("/internal/blocks/list", query: query ?? [])
    }
}
