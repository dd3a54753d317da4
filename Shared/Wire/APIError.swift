/// The only error that leaves a process: what went wrong, in terms a client can act on.
///
/// On the wire it is an RFC 9457 `application/problem+json` body. A caller of a neighbour gets the same value back, so
/// a `catch` reads alike on both sides. `message` is for a person; code that branches, branches on `code`.
package struct APIError: Error, Hashable, Sendable {
    /// What kind of failure it is; each has one HTTP status.
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
        /// Of tus alone, which has no other word for it.
        case checksumMismatch = 460
        case `internal` = 500
        case badGateway = 502
        case unavailable = 503
        case gatewayTimeout = 504
        case insufficientStorage = 507

        package var status: Int { rawValue }

        /// The status's reason phrase (RFC 9110), which the problem's `title` repeats.
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
    /// Stable and machine-readable, as `missing_field` or `username_taken`.
    package var code: String
    package var message: String
    /// The request's field that is at fault, with `400`.
    package var field: String?
    /// All fields at fault, the one of `field` first; empty where only one is.
    package var errors: [FieldError] = []
    /// Seconds after which another try is worth making, with `429` and `503`.
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
    /// A field that must be there and is not, or is null or empty.
    package static func missing(_ field: String) -> APIError {
        APIError(.invalid, "missing_field", "the field \"\(field)\" is missing", field: field)
    }

    /// A field whose value breaks a rule, which `message` states.
    package static func invalid(_ field: String, _ message: String, code: String = "invalid_field") -> APIError {
        APIError(.invalid, code, message, field: field)
    }

    /// A neighbour or the database does not answer: nothing is wrong with the request.
    package static func unavailable(_ what: String, retryAfter: Int = 1) -> APIError {
        APIError(.unavailable, "unavailable", "\(what) is unavailable; try again", retryAfter: retryAfter)
    }

    /// What is told of a failure that is ours; the log has the rest.
    package static let `internal` = APIError(.internal, "internal", "something went wrong on our side")
}
