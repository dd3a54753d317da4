public import HTTPTypes

/// An error for which the protocol has a status.
public enum TusError: Error, Hashable, Sendable {
    /// `Tus-Resumable` has an unsupported version. Status 412.
    case unsupportedVersion
    /// A header is missing or invalid; the text is a predicate: "must be a whole number". Status 400.
    case invalid(header: String, String)
    /// The body's type is not `application/offset+octet-stream`. Status 415.
    case unsupportedMediaType
    /// The method is not allowed for an upload's URL. Status 405.
    case methodNotAllowed
    /// There is no such upload, or it belongs to another owner. Status 404.
    case notFound
    /// The upload has expired or was removed. Status 410.
    case gone
    /// The piece does not begin at the upload's offset, which is the value. Status 409.
    case wrongOffset(is: Int64)
    /// The upload exceeds the allowed or announced length in bytes. Status 413.
    case tooLarge(limit: Int64)
    /// The received bytes do not match the checksum. Status 460.
    case checksumMismatch

    /// The HTTP status of the response.
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
        // Defined by the protocol.
        case .checksumMismatch: HTTPResponse.Status(code: 460, reasonPhrase: "Checksum Mismatch")
        }
    }

    /// A stable code for programs.
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

    /// A message for people.
    public var message: String {
        switch self {
        case .unsupportedVersion: "the header Tus-Resumable must be \(TusHeaders.version)"
        case .invalid(let header, let why): "the header \(header) \(why)"
        case .unsupportedMediaType: "the Content-Type of an upload's bytes must be \(TusHeaders.mediaType)"
        case .methodNotAllowed: "an upload allows the methods HEAD, PATCH and DELETE"
        case .notFound: "there is no such upload"
        case .gone: "the upload has expired or was removed"
        case .wrongOffset(let offset): "the upload continues at offset \(offset)"
        case .tooLarge(let limit): "the upload may have at most \(limit) bytes"
        case .checksumMismatch: "the received bytes do not match the checksum"
        }
    }
}
