import Foundation
import PhotosAPI
import Postgres
import Wire

/// Posts that another service makes for people: as their own, and once for each key.
struct PostOrders: Sendable {
    /// For how long a key is known, in seconds: longer than social tries.
    private static let memory: TimeInterval = 3 * 86_400

    let database: PostgresPool
    let posts: Posts
    let now: @Sendable () -> Date

    func take(_ order: PostOrder) async throws -> OrderedPost {
        guard !order.applicationId.isEmpty else { throw APIError.missing("applicationId") }
        guard !order.userId.isEmpty else { throw APIError.missing("userId") }
        return OrderedPost(postId: try await posts.create(order.post, by: order.user, once: order.key).postID)
    }

    func find(_ key: UUID, of user: User.ID) async throws -> OrderedPost {
        guard let post = try await PostOrderStore(db: database).find(key, of: user) else { throw Posts.notFound }
        return OrderedPost(postId: post.postID)
    }

    func sweep() async throws {
        try await PostOrderStore(db: database).delete(madeBefore: now().addingTimeInterval(-Self.memory))
    }
}
