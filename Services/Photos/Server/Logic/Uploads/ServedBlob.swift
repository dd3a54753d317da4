import ServiceHost

/// A blob that anybody may read who knows its key.
struct ServedBlob: Hashable, Sendable {
    let key: MediaKey
    /// By its bytes.
    let mediaType: String
    /// In bytes.
    let size: Int64

    /// How it is served: for good, since what lies under a key never changes.
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
