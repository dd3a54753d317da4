import ServiceClient
package import Wire

extension PhotosClient {
    /// Returns the home feed: posts of the caller and of followed users, newest first.
    package func home(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Post> {
        try await service.get("/photos/home", query: Self.page(limit, cursor))
    }
}
