package import Foundation
package import Wire

/// A request of another service to post on behalf of a user, for example a scheduled post.
package struct DelegatedPostRequest: Codable, Sendable {
    package var applicationId: String
    package var userId: String
    /// The idempotency key: a repeated request with this key returns the first post and creates no other.
    package var key: UUID
    package var post: PostDraft

    package init(for user: User.ID, key: UUID, _ post: PostDraft) {
        applicationId = user.application
        userId = user.user
        self.key = key
        self.post = post
    }

    package var user: User.ID { User.ID(application: applicationId, user: userId) }
}

/// The post that a delegated request created; the post may have been deleted since.
package struct DelegatedPost: Codable, Hashable, Sendable {
    package var postId: String

    package init(postId: String) {
        self.postId = postId
    }
}
