package import ServiceClient
package import Wire

/// What another service asks about blocks; the `ServiceClient` carries its service token.
package struct BlocksClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Those kept apart from a user, whoever of the two blocked the other; at most 1,000 at a time.
    package func keptApart(from user: User.ID, after last: String? = nil) async throws -> KeptApart {
        var query = [("application", user.application), ("userId", user.user)]
        if let last { query.append(("after", last)) }
        return try await service.get("/internal/blocks", query: query)
    }
}
