import ServiceClient
package import Wire

extension PhotosClient {
    package func comment(_ text: String, on post: String) async throws -> Comment {
        try await service.post(path(post, "comments"), CommentDraft(text: text))
    }

    package func comments(on post: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Comment> {
        try await service.get(path(post, "comments"), query: Self.page(limit, cursor))
    }

    package func update(_ comment: String, on post: String, to text: String) async throws -> Comment {
        try await service.patch(path(post, "comments", comment), CommentDraft(text: text))
    }

    package func delete(_ comment: String, on post: String) async throws {
        _ = try await service.delete(path(post, "comments", comment), as: DeleteResponse.self)
    }

    @discardableResult
    package func like(_ post: String) async throws -> LikeState {
        try await service.put(path(post, "like"))
    }

    @discardableResult
    package func unlike(_ post: String) async throws -> LikeState {
        try await service.delete(path(post, "like"))
    }

    package func likes(of post: String, limit: Int? = nil, cursor: String? = nil) async throws -> Page<Like> {
        try await service.get(path(post, "likes"), query: Self.page(limit, cursor))
    }

    package func flag(_ post: String) async throws {
        _ = try await service.put(path(post, "flag"), as: FlagResponse.self)
    }

    package func flag(_ comment: String, on post: String) async throws {
        _ = try await service.put(path(post, "comments", comment, "flag"), as: FlagResponse.self)
    }

    /// For administrators and an application's server.
    package func flags(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Flag> {
        try await service.get("/photos/flags", query: Self.page(limit, cursor))
    }

    /// For administrators and an application's server.
    @discardableResult
    package func hide(_ post: String) async throws -> Post {
        try await service.put(path(post, "hidden"))
    }

    /// For administrators and an application's server.
    @discardableResult
    package func restore(_ post: String) async throws -> Post {
        try await service.delete(path(post, "hidden"))
    }
}
