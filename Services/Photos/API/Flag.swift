package import Foundation
import Wire

/// A flagged post or comment, as administrators see it.
package struct Flag: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "flags"

    package enum Kind: String, Codable, Sendable { case post, comment }

    package var kind: Kind
    /// The flagged post, or the post of the flagged comment.
    package var post: Post
    /// The flagged comment; nil if the post itself was flagged.
    package var comment: Comment?
    package var flagCount: Int
    package var firstFlaggedAt: Date
    package var lastFlaggedAt: Date

    package init(
        post: Post,
        comment: Comment? = nil,
        flagCount: Int,
        firstFlaggedAt: Date,
        lastFlaggedAt: Date
    ) {
        kind = comment == nil ? .post : .comment
        self.post = post
        self.comment = comment
        self.flagCount = flagCount
        self.firstFlaggedAt = firstFlaggedAt
        self.lastFlaggedAt = lastFlaggedAt
    }
}

/// The response to flagging; the same for a repeated flag.
package struct FlagResponse: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}
