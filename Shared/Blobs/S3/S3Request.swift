import NIOCore
import NIOHTTP1

/// A request to a bucket.
struct S3Request: Sendable {
    enum Body: Sendable {
        case none
        case bytes(ByteBuffer)
        /// The first bytes of a spool file.
        case spooled(SpooledBytes)
    }

    /// The operation, for error messages.
    var purpose: String
    var method: HTTPMethod
    /// The blob; nil for the bucket itself.
    var key: BlobKey?
    var query: [(name: String, value: String)] = []
    var headers: [(name: String, value: String)] = []
    var body = Body.none
    /// The SHA-256 of the body in hexadecimal digits.
    var bodyHash = RequestSigner.emptyHash
    /// Whether status 404 is a valid result: no such blob, or no such upload.
    var mayBeMissing = false
    /// The maximum number of attempts; nil for the configured one.
    var attempts: Int?
}

/// A small response, read completely.
struct S3Response: Sendable {
    /// Whether the blob or upload exists.
    let isFound: Bool
    let headers: HTTPHeaders
    let text: S3XMLText
}
