package import Foundation
import HTTPTypes
package import ServiceClient
package import Wire

/// What another service posts for people; the `ServiceClient` carries its service token.
package struct DelegatedPostsClient: Sendable {
    private let service: ServiceClient

    package init(_ service: ServiceClient) {
        self.service = service
    }

    /// Brings an image that somebody's post will have; it is his upload, for a day.
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

    /// Posts, once for each key; when it returns, the post is there.
    package func create(_ request: DelegatedPostRequest) async throws -> DelegatedPost {
        try await service.post("/internal/posts", request)
    }

    /// What an order was made into.
    ///
    /// - Throws: `notFound` where it was not.
    package func find(_ key: UUID, of user: User.ID) async throws -> DelegatedPost {
        try await service.get("/internal/posts/\(key.uuidString.lowercased())", query: Self.query(user))
    }

    private static func query(_ user: User.ID) -> [(String, String)] {
        [("application", user.application), ("userId", user.user)]
    }
}
