public import HTTPTypes

/// What the protocol has a status for.
public enum TusError: Error, Hashable, Sendable {
    /// `Tus-Resumable` is not a version that is spoken here.
    case unsupportedVersion
    /// A header that is missing or makes no sense, and why.
    case invalid(header: String, String)
    /// Bytes come as `application/offset+octet-stream`.
    case unsupportedMediaType
    /// A URL of an upload takes no such method.
    case methodNotAllowed
    /// There is no such upload.
    case notFound
    /// There was one; it has expired or was ended.
    case gone
    /// The next byte belongs elsewhere.
    case wrongOffset(is: Int64)
    /// More than may be uploaded, or than was announced.
    case tooLarge(limit: Int64)
    /// What came is not what was sent.
    case checksumMismatch

    public var status: HTTPResponse.Status {
        switch self {
        case .unsupportedVersion: .preconditionFailed
        case .invalid: .badRequest
        case .unsupportedMediaType: .unsupportedMediaType
        case .methodNotAllowed: .methodNotAllowed
        case .notFound: .notFound
        case .gone: .gone
        case .wrongOffset: .conflict
        case .tooLarge: .contentTooLarge
        // The protocol's own.
        case .checksumMismatch: HTTPResponse.Status(code: 460, reasonPhrase: "Checksum Mismatch")
        }
    }

    /// Stable, for code.
    public var code: String {
        switch self {
        case .unsupportedVersion: "unsupported_tus_version"
        case .invalid: "invalid_header"
        case .unsupportedMediaType: "unsupported_media_type"
        case .methodNotAllowed: "method_not_allowed"
        case .notFound: "upload_not_found"
        case .gone: "upload_expired"
        case .wrongOffset: "offset_mismatch"
        case .tooLarge: "file_too_large"
        case .checksumMismatch: "checksum_mismatch"
        }
    }

    /// For a person.
    public var message: String {
        switch self {
        case .unsupportedVersion: "the header Tus-Resumable must be \(TusHeaders.version)"
        case .invalid(let header, let why): "the header \(header) \(why)"
        case .unsupportedMediaType: "bytes of an upload are \(TusHeaders.mediaType)"
        case .methodNotAllowed: "an upload takes HEAD, PATCH and DELETE"
        case .notFound: "there is no such upload"
        case .gone: "the upload is no longer there"
        case .wrongOffset(let offset): "the upload goes on at \(offset)"
        case .tooLarge(let limit): "the upload may have \(limit) bytes"
        case .checksumMismatch: "the bytes that came are not those that the checksum is of"
        }
    }
}
