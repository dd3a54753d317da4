import Wire

/// A word by which posts are found.
package struct Hashtag: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "hashtags"

    /// Folded, without the `#`.
    package var tag: String
    /// How many posts have it.
    package var postCount: Int

    package init(tag: String, postCount: Int) {
        self.tag = tag
        self.postCount = postCount
    }
}
