import Wire

enum GatewayError {
    static func invalid(_ what: String, _ message: String) -> APIError {
        APIError(.invalid, "invalid_\(what)", message)
    }

    static let malformed = APIError(.invalid, "malformed_request", "the request is not valid HTTP")
    static let target = APIError(.invalid, "invalid_path", "the path or query is malformed")

    static func targetTooLong(limit: Int) -> APIError {
        APIError(.uriTooLong, "uri_too_long", "the path and query are too long; at most \(limit) bytes are allowed")
    }

    static let headersTooLarge = APIError(
        .headersTooLarge,
        "headers_too_large",
        "the header fields are too large or too many"
    )
    static let notFound = APIError(.notFound, "not_found", "there is no route with this path")
    static let methodNotAllowed = APIError(
        .methodNotAllowed,
        "method_not_allowed",
        "this path does not accept the method; the Allow field lists the accepted methods"
    )
    static let authenticationRequired = APIError(.forbidden, "authentication_required", "a credential is required")
    static let slowHeaders = APIError(
        .timedOut,
        "request_timeout",
        "the request's header fields did not arrive within the time limit; send the request again"
    )

    static func slowBody(minimumRate: Int) -> APIError {
        APIError(
            .timedOut,
            "request_timeout",
            "the request's body arrived too slowly; send at least \(minimumRate) bytes per second"
        )
    }

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
    static let brokenResponse = APIError(.badGateway, "bad_gateway", "the service's response ended too early")
    static let lateResponse = APIError(.gatewayTimeout, "gateway_timeout", "the service did not respond in time")

    static func unavailable(_ service: String, retryAfter: Int = 1) -> APIError {
        .unavailable("the service \(service)", retryAfter: retryAfter)
    }
}
