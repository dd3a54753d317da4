import ServiceClient
package import Wire

extension PhotosClient {
    /// One's own posts and those of whom one follows, newest first.
    package func home(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Post> {
        try await service.get("/photos/home", query: Self.page(limit, cursor))
    }
}
