package import Foundation
package import Wire

/// What another service posts for somebody who is not there to ask himself, as a post for later.
package struct DelegatedPostRequest: Codable, Sendable {
    package var applicationId: String
    package var userId: String
    /// One that comes again by the same key is the same post, and no other is made.
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

/// The post that an order was made into; it may be gone by now.
package struct DelegatedPost: Codable, Hashable, Sendable {
    package var postId: String

    package init(postId: String) {
        self.postId = postId
    }
}
