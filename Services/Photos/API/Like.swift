package import Foundation
import Wire

package struct Like: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "likes"

    package var author: Author
    package var timestamp: Date

    package init(author: Author, timestamp: Date) {
        self.author = author
        self.timestamp = timestamp
    }
}

/// The state of a post's likes for the caller, after the caller liked or unliked the post.
package struct LikeState: Codable, Hashable, Sendable {
    package var isLiked: Bool
    package var likeCount: Int

    package init(isLiked: Bool, likeCount: Int) {
        self.isLiked = isLiked
        self.likeCount = likeCount
    }
}
