package import Foundation

/// The body of every error response, `application/problem+json` (RFC 9457).
package struct Problem: Codable, Sendable {
    package static let mediaType = "application/problem+json"

    package var type: String
    package var title: String
    package var status: Int
    package var detail: String
    package var code: String
    package var field: String?
    /// All invalid fields, if there is more than one.
    package var errors: [FieldError]?
    package var requestId: String?

    package init(_ error: APIError, requestID: String?) {
        type = "about:blank"
        title = error.kind.title
        status = error.kind.status
        detail = error.message
        code = error.code
        field = error.field
        errors = error.errors.isEmpty ? nil : error.errors
        requestId = requestID
    }

    /// Returns the error that this body describes.
    ///
    /// An unknown 5xx status counts as an invalid response of the service.
    ///
    /// - Parameter retryAfter: the value of the `Retry-After` header.
    /// - Returns: the error.
    package func error(retryAfter: Int? = nil) -> APIError {
        let kind = APIError.Kind(rawValue: status) ?? (status < 500 ? .invalid : .badGateway)
        var error = APIError(kind, code, detail, field: field, retryAfter: retryAfter)
        error.errors = errors ?? []
        return error
    }

    package func encoded() -> Data {
        // Encoding strings and a number never fails.
        (try? WireJSON.encoder().encode(self)) ?? Data(#"{"status":\#(status),"code":"\#(code)"}"#.utf8)
    }
}
