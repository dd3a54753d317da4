import Wire

package struct Hashtag: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "hashtags"

    /// Case-folded, without the `#`.
    package var tag: String
    package var postCount: Int

    package init(tag: String, postCount: Int) {
        self.tag = tag
        self.postCount = postCount
    }
}
