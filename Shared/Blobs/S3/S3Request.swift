import NIOCore
import NIOHTTP1

/// One thing asked of a bucket.
struct S3Request: Sendable {
    enum Body: Sendable {
        case none
        case bytes(ByteBuffer)
        /// What a file begins with.
        case spooled(SpooledBytes)
    }

    /// What is tried, for the text of an error.
    var purpose: String
    var method: HTTPMethod
    /// The blob that it is about; nil for the bucket.
    var key: BlobKey?
    var query: [(name: String, value: String)] = []
    var headers: [(name: String, value: String)] = []
    var body = Body.none
    /// SHA-256 in hexadecimal digits.
    var bodyHash = RequestSigner.emptyHash
    /// Whether 404 is an answer: there is no such blob, or no such upload any more.
    var mayBeMissing = false
    /// How often it is made at most; nil: as the configuration says.
    var attempts: Int?
}

/// A small answer, read to its end.
struct S3Response: Sendable {
    /// Whether there was what was asked for.
    let isFound: Bool
    let headers: HTTPHeaders
    let text: S3XMLText
}
