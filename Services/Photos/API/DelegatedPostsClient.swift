package import Foundation
import HTTPTypes
package import ServiceClient
package import Wire

/// A client of the internal routes for delegated posts; the `ServiceClient` sends the caller's service token.
package struct DelegatedPostsClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Uploads an image for a post of `user`.
    ///
    /// An unused upload expires after a day.
    package func upload(_ image: Data, as type: String, for user: User.ID) async throws -> Upload {
        var headers = HTTPFields()
        headers[.contentType] = type
        let response = try await service.send(
            .post,
            "/internal/uploads",
            query: Self.query(user),
            headers: headers,
            body: image,
            timeout: .seconds(30)
        )
        return try WireJSON.decoder().decode(Upload.self, from: response.body)
    }

    /// Creates a post, once for each key; returns after the post is committed.
    package func create(_ request: DelegatedPostRequest) async throws -> DelegatedPost {
        try await service.post("/internal/posts", request)
    }

    /// Returns the post that was created with a key.
    ///
    /// - Throws: `notFound` if no post was created with the key.
    package func find(_ key: UUID, of user: User.ID) async throws -> DelegatedPost {
        try await service.get("/internal/posts/\(key.uuidString.lowercased())", query: Self.query(user))
    }

    private static func query(_ user: User.ID) -> [(String, String)] {
        [("application", user.application), ("userId", user.user)]
    }
}
