package import Foundation
import Wire

/// A post: up to ten images, a text, or both.
package struct Post: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "posts"

    /// Opaque to clients.
    package var postId: String
    package var author: Author
    /// 0 to 1,999 characters; not empty if there are no images.
    package var text: String
    /// In the author's order; empty for a post of text only.
    package var images: [PostImage]
    package var timestamp: Date
    package var editedAt: Date?
    /// When an administrator hid the post; only its author and administrators can see a hidden post.
    package var hiddenAt: Date?
    package var likeCount: Int
    /// Whether the caller likes the post.
    package var isLiked: Bool
    package var commentCount: Int
    /// The three newest comments, newest first, without comments of users with a block to or from the caller.
    package var recentComments: [Comment]
    /// Case-folded, without duplicates, in the order of the text.
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

/// An image of a post, in two sizes.
package struct PostImage: Codable, Hashable, Sendable {
    /// At most 1,280 pixels wide and high.
    package var url: String
    /// At most 640 pixels wide and high.
    package var thumbnailUrl: String
    /// The size of the image at `url`, in pixels.
    package var width: Int
    package var height: Int
    /// A placeholder to show while the image loads (blurha.sh).
    package var blurhash: String
    /// The author's description of the image; null if there is none.
    package var alt: String?

    package init(url: String, thumbnailUrl: String, width: Int, height: Int, blurhash: String, alt: String? = nil) {
        self.url = url
        self.thumbnailUrl = thumbnailUrl
        self.width = width
        self.height = height
        self.blurhash = blurhash
        self.alt = alt
    }

    // Encodes null explicitly, because clients may rely on the field.
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

/// The response to a deletion; the same if there was nothing to delete.
package struct DeleteResponse: Codable, Hashable, Sendable {
    package var success: Bool

    package init() { success = true }
}
