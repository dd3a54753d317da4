package import Foundation
import Wire

package struct Comment: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "comments"

    /// Unique within the post; opaque to clients.
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

/// The body of requests that create or edit a comment.
package struct CommentDraft: Codable, Sendable {
    package var text: String

    package init(text: String) { self.text = text }
}
