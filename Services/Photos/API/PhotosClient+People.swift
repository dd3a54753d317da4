import ServiceClient
package import Wire

extension PhotosClient {
    package func me() async throws -> Profile {
        try await service.get("/photos/me")
    }

    @discardableResult
    package func update(_ changes: ProfileChanges) async throws -> Profile {
        try await service.patch("/photos/me", changes)
    }

    package func privacy() async throws -> Privacy {
        try await service.get("/photos/me/privacy")
    }

    @discardableResult
    package func update(_ privacy: Privacy) async throws -> Privacy {
        try await service.put("/photos/me/privacy", privacy)
    }

    package func profile(of user: String) async throws -> Profile {
        try await service.get(path(to: user))
    }

    /// Returns at most ten users.
    package func people(matching query: String) async throws -> [Profile] {
        try await service.get("/photos/people", query: [("query", query)], as: Page<Profile>.self).items
    }

    /// Returns the profiles of those of at most 100 users that the caller may see, in the order of the ids.
    package func people(_ users: [String]) async throws -> [Profile] {
        let query = users.map { ("userId", $0) }
        return try await service.get("/photos/people", query: query, as: Page<Profile>.self).items
    }

    @discardableResult
    package func follow(_ user: String) async throws -> Profile {
        try await service.put("\(path(to: user))/follow")
    }

    @discardableResult
    package func unfollow(_ user: String) async throws -> Profile {
        try await service.delete("\(path(to: user))/follow")
    }

    /// Returns the followers, newest follow first.
    package func followers(of user: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Profile> {
        try await service.get("\(path(to: user))/followers", query: Self.page(limit, cursor))
    }

    /// Returns the followed users, newest follow first.
    package func following(of user: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Profile> {
        try await service.get("\(path(to: user))/following", query: Self.page(limit, cursor))
    }

    private func path(to user: String) -> String { "/photos/people/\(ServiceClient.percentEncoded(user))" }
}
