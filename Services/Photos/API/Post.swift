package import Foundation
import Wire

/// A post: up to ten images, a text, or both.
package struct Post: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "posts"

    /// Opaque.
    package var postId: String
    package var author: Author
    /// 0 to 1,999 characters; not empty where there are no images.
    package var text: String
    /// In the author's order; empty for a post of text alone.
    package var images: [PostImage]
    package var timestamp: Date
    package var editedAt: Date?
    /// An administrator has hidden it: only its author and administrators see it, and that since then.
    package var hiddenAt: Date?
    package var likeCount: Int
    /// Whether the reader likes it.
    package var isLiked: Bool
    package var commentCount: Int
    /// The latest three, newest first, without those of people whom a block keeps apart from the reader.
    package var recentComments: [Comment]
    /// Folded, in the order in which they stand in the text, each once.
    package var hashtags: [String]

    package init(
        postId: String,
        author: Author,
        text: String,
        images: [PostImage],
        timestamp: Date,
        editedAt: Date? = nil,
        hiddenAt: Date? = nil,
        likeCount: Int = 0,
        isLiked: Bool = false,
        commentCount: Int = 0,
        recentComments: [Comment] = [],
        hashtags: [String] = []
    ) {
        self.postId = postId
        self.author = author
        self.text = text
        self.images = images
        self.timestamp = timestamp
        self.editedAt = editedAt
        self.hiddenAt = hiddenAt
        self.likeCount = likeCount
        self.isLiked = isLiked
        self.commentCount = commentCount
        self.recentComments = recentComments
        self.hashtags = hashtags
    }
}

/// One image of a post, in two sizes.
package struct PostImage: Codable, Hashable, Sendable {
    /// At most 1,280 pixels wide and high.
    package var url: String
    /// At most 640.
    package var thumbnailUrl: String
    /// Of the larger one, in pixels.
    package var width: Int
    package var height: Int
    /// What to show until it is there (blurha.sh).
    package var blurhash: String
    /// What is to be seen on it, in the author's words; null where he says nothing.
    package var alt: String?

    package init(url: String, thumbnailUrl: String, width: Int, height: Int, blurhash: String, alt: String? = nil) {
        self.url = url
        self.thumbnailUrl = thumbnailUrl
        self.width = width
        self.height = height
        self.blurhash = blurhash
        self.alt = alt
    }

    // Written out for the null, which clients may rely on.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(url, forKey: .url)
        try container.encode(thumbnailUrl, forKey: .thumbnailUrl)
        try container.encode(width, forKey: .width)
        try container.encode(height, forKey: .height)
        try container.encode(blurhash, forKey: .blurhash)
        try container.encode(alt, forKey: .alt)
    }
}

/// The answer to taking away what may not have been there.
package struct DeleteResponse: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}
