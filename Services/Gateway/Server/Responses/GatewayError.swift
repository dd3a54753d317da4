import Wire

/// The gateway's own errors, each with its stable code.
enum GatewayError {
    static func invalid(_ what: String, _ message: String) -> APIError {
        APIError(.invalid, "invalid_\(what)", message)
    }

    static let malformed = APIError(.invalid, "malformed_request", "the request is not HTTP as it should be")
    static let target = APIError(.invalid, "invalid_path", "the path or query is malformed")
    static let targetTooLong = APIError(.uriTooLong, "uri_too_long", "the path and query are too long")
    static let headersTooLarge = APIError(
        .headersTooLarge,
        "headers_too_large",
        "there is too much in the header fields"
    )
    static let bodyTooLarge = APIError(.tooLarge, "body_too_large", "the body is too large")
    static let notFound = APIError(.notFound, "not_found", "there is nothing here")
    static let methodNotAllowed = APIError(
        .methodNotAllowed,
        "method_not_allowed",
        "the method is not one of this path's"
    )
    static let authenticationRequired = APIError(.forbidden, "authentication_required", "a credential is needed")
    static let slowHeaders = APIError(.timedOut, "request_timeout", "the request's header fields came too slowly")
    static let slowBody = APIError(.timedOut, "request_timeout", "the request's body came too slowly")
    static let tooManyConnections = APIError(
        .unavailable,
        "too_many_connections",
        "too many connections; try again",
        retryAfter: 1
    )
    static let tooManyConnectionsFromAddress = APIError(
        .rateLimited,
        "too_many_connections",
        "too many connections from this address; close some, or use them for more requests",
        retryAfter: 1
    )
    static let stopping = APIError.unavailable("this gateway")
    static let brokenResponse = APIError(.badGateway, "bad_gateway", "the service broke off its answer")
    static let lateResponse = APIError(.gatewayTimeout, "gateway_timeout", "the service did not answer in time")

    static func unavailable(_ service: String, retryAfter: Int = 1) -> APIError {
        .unavailable("the service \(service)", retryAfter: retryAfter)
    }
}
