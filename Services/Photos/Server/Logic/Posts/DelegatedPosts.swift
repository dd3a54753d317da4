import Foundation
import PhotosAPI
import Postgres
import Wire

/// Posts that another service creates on behalf of users, once for each idempotency key.
struct DelegatedPosts: Sendable {
    /// How long an idempotency key is stored, in seconds; longer than social retries.
    private static let retention: TimeInterval = 3 * 86_400

    let database: PostgresPool
    let posts: Posts
    let now: @Sendable () -> Date

    func create(_ request: DelegatedPostRequest) async throws -> DelegatedPost {
        guard !request.applicationId.isEmpty else { throw APIError.missing("applicationId") }
        guard !request.userId.isEmpty else { throw APIError.missing("userId") }
        return DelegatedPost(
            postId: try await posts.create(request.post, by: request.user, idempotencyKey: request.key).postID
        )
    }

    func find(_ key: UUID, of user: User.ID) async throws -> DelegatedPost {
        guard let post = try await DelegatedPostStore(db: database).find(key, of: user) else { throw Posts.notFound }
        return DelegatedPost(postId: post.postID)
    }

    func deleteExpired() async throws {
        try await DelegatedPostStore(db: database).delete(createdBefore: now().addingTimeInterval(-Self.retention))
    }
}
