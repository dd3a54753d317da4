package import Foundation
import Wire

/// A post or a comment that people have found to be wrong, as administrators see it.
package struct Flag: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "flags"

    package enum Kind: String, Codable, Sendable { case post, comment }

    package var kind: Kind
    /// The post itself, or the comment's.
    package var post: Post
    /// Where it is a comment that was flagged.
    package var comment: Comment?
    /// How many people have.
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

/// The answer to flagging: it is noted, now or before.
package struct FlagResponse: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}
