/// An image that was brought: for a day, or for as long as something has it.
package struct Upload: Codable, Hashable, Sendable {
    /// By which a post or a profile takes it.
    package var uploadId: String
    /// At most 1,280 pixels wide and high.
    package var url: String
    /// At most 640 pixels wide and high.
    package var thumbnailUrl: String
    /// Of the larger one, in pixels.
    package var width: Int
    package var height: Int
    package var blurhash: String

    package init(uploadId: String, url: String, thumbnailUrl: String, width: Int, height: Int, blurhash: String) {
        self.uploadId = uploadId
        self.url = url
        self.thumbnailUrl = thumbnailUrl
        self.width = width
        self.height = height
        self.blurhash = blurhash
    }
}
