import ServiceHost

struct ServedBlob: Hashable, Sendable {
    let key: MediaKey
    /// The media type, detected from the bytes.
    let mediaType: String
    let size: Int64

    /// The response, which clients may cache for a year: the content under a key never changes.
    var reply: BlobResponse {
        BlobResponse(
            eTag: "\"\(key.blob)\"",
            size: size,
            cacheControl: "public, max-age=31536000, immutable",
            mediaType: mediaType,
            disposition: "inline"
        )
    }
}
