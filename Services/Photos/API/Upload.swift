/// An uploaded image.
///
/// It expires after a day unless a post or a profile uses it.
package struct Upload: Codable, Hashable, Sendable {
    /// The id with which a post or a profile uses the upload.
    package var uploadId: String
    /// At most 1,280 pixels wide and high.
    package var url: String
    /// At most 640 pixels wide and high.
    package var thumbnailUrl: String
    /// The size of the image at `url`, in pixels.
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
