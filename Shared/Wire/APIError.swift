/// The error type of all APIs, in terms that a client can act on.
///
/// It is sent as an `application/problem+json` body (RFC 9457), and the caller of another service receives the same
/// value. `message` is for people; code branches on `code`.
package struct APIError: Error, Hashable, Sendable {
    /// The kind of a failure, which determines the HTTP status.
    package enum Kind: Int, CaseIterable, Sendable {
        case invalid = 400
        case unauthenticated = 401
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case notAcceptable = 406
        case timedOut = 408
        case conflict = 409
        case gone = 410
        case preconditionFailed = 412
        case tooLarge = 413
        case uriTooLong = 414
        case unsupportedMediaType = 415
        case rangeNotSatisfiable = 416
        case unprocessable = 422
        case rateLimited = 429
        case headersTooLarge = 431
        /// The tus protocol's status for a checksum mismatch.
        case checksumMismatch = 460
        case `internal` = 500
        case badGateway = 502
        case unavailable = 503
        case gatewayTimeout = 504
        case insufficientStorage = 507

        package var status: Int { rawValue }

        /// The status's reason phrase (RFC 9110), which is also the problem's `title`.
        package var title: String {
            switch self {
            case .invalid: "Bad Request"
            case .unauthenticated: "Unauthorized"
            case .forbidden: "Forbidden"
            case .notFound: "Not Found"
            case .methodNotAllowed: "Method Not Allowed"
            case .notAcceptable: "Not Acceptable"
            case .timedOut: "Request Timeout"
            case .conflict: "Conflict"
            case .gone: "Gone"
            case .preconditionFailed: "Precondition Failed"
            case .tooLarge: "Content Too Large"
            case .uriTooLong: "URI Too Long"
            case .unsupportedMediaType: "Unsupported Media Type"
            case .rangeNotSatisfiable: "Range Not Satisfiable"
            case .unprocessable: "Unprocessable Content"
            case .rateLimited: "Too Many Requests"
            case .headersTooLarge: "Request Header Fields Too Large"
            case .checksumMismatch: "Checksum Mismatch"
            case .internal: "Internal Server Error"
            case .badGateway: "Bad Gateway"
            case .unavailable: "Service Unavailable"
            case .gatewayTimeout: "Gateway Timeout"
            case .insufficientStorage: "Insufficient Storage"
            }
        }
    }

    package var kind: Kind
    /// The stable, machine-readable code, such as `missing_field` or `username_taken`.
    package var code: String
    package var message: String
    /// The invalid field of the request, with status 400.
    package var field: String?
    /// All invalid fields, starting with `field`; empty if there is only one.
    package var errors: [FieldError] = []
    /// The time in seconds after which a retry is useful, with statuses 429 and 503.
    package var retryAfter: Int?

    package init(_ kind: Kind, _ code: String, _ message: String, field: String? = nil, retryAfter: Int? = nil) {
        self.kind = kind
        self.code = code
        self.message = message
        self.field = field
        self.retryAfter = retryAfter ?? (kind == .unavailable || kind == .rateLimited ? 1 : nil)
    }
}

extension APIError {
    /// Returns the error for a required field that is missing, null or empty.
    package static func missing(_ field: String) -> APIError {
        APIError(.invalid, "missing_field", "the field \"\(field)\" is missing", field: field)
    }

    /// Returns the error for a field whose value is invalid; `message` states the rule.
    package static func invalid(_ field: String, _ message: String, code: String = "invalid_field") -> APIError {
        APIError(.invalid, code, message, field: field)
    }

    /// Returns the error for a service or database that is unavailable.
    package static func unavailable(_ what: String, retryAfter: Int = 1) -> APIError {
        APIError(.unavailable, "unavailable", "\(what) is unavailable; try again", retryAfter: retryAfter)
    }

    /// The error that a client receives after an unexpected failure; the log contains the cause.
    package static let `internal` = APIError(.internal, "internal", "an internal error occurred")
}
