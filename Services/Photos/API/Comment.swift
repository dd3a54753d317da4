package import Foundation
import Wire

/// What somebody has written under a post.
package struct Comment: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "comments"

    /// Of its post; opaque.
    package var commentId: String
    package var author: Author
    /// 1 to 1,999 characters.
    package var text: String
    package var timestamp: Date
    package var editedAt: Date?

    package init(commentId: String, author: Author, text: String, timestamp: Date, editedAt: Date? = nil) {
        self.commentId = commentId
        self.author = author
        self.text = text
        self.timestamp = timestamp
        self.editedAt = editedAt
    }
}

/// What one asks to have written under a post, and what takes its place when it is edited.
package struct CommentDraft: Codable, Sendable {
    package var text: String

    package init(text: String) { self.text = text }
}
