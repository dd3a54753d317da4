package import Foundation
import Wire

/// That somebody likes a post.
package struct Like: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "likes"

    package var author: Author
    /// Since when.
    package var timestamp: Date

    package init(author: Author, timestamp: Date) {
        self.author = author
        self.timestamp = timestamp
    }
}

/// How a post stands with its reader, after he has begun or ceased to like it.
package struct LikeState: Codable, Hashable, Sendable {
    package var isLiked: Bool
    package var likeCount: Int

    package init(isLiked: Bool, likeCount: Int) {
        self.isLiked = isLiked
        self.likeCount = likeCount
    }
}
