import ServiceClient
package import Wire

extension PhotosClient {
    package func post(_ draft: PostDraft) async throws -> Post {
        try await service.post("/photos/posts", draft)
    }

    package func post(_ id: String) async throws -> Post {
        try await service.get(path(id))
    }

    package func update(_ id: String, _ changes: PostChanges) async throws -> Post {
        try await service.patch(path(id), changes)
    }

    package func delete(_ id: String) async throws {
        _ = try await service.delete(path(id), as: DeleteResponse.self)
    }

    /// Returns all posts of the application, newest first.
    package func posts(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Post> {
        try await service.get("/photos/posts", query: Self.page(limit, cursor))
    }

    package func posts(of user: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Post> {
        let path = "/photos/people/\(ServiceClient.percentEncoded(user))/posts"
        return try await service.get(path, query: Self.page(limit, cursor))
    }

    package func posts(tagged tag: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Post> {
        let path = "/photos/hashtags/\(ServiceClient.percentEncoded(tag))"
        return try await service.get(path, query: Self.page(limit, cursor))
    }

    package func hashtags(_ query: String) async throws -> [Hashtag] {
        try await service.get("/photos/hashtags", query: [("query", query)], as: Page<Hashtag>.self).items
    }

    func path(_ post: String, _ rest: String...) -> String {
        (["/photos/posts", ServiceClient.percentEncoded(post)] + rest).joined(separator: "/")
    }
}
