package import ServiceContextModule

/// The request id and trace that are forwarded from service to service, so that a request can be followed in the logs.
package struct RequestTrace: Hashable, Sendable {
    /// The `X-Request-Id`: 1 to 128 characters of `[A-Za-z0-9._-]`.
    package var requestID: String
    /// The W3C `traceparent`.
    package var traceparent: String?

    package init(requestID: String, traceparent: String? = nil) {
        self.requestID = requestID
        self.traceparent = traceparent
    }
}

private enum RequestTraceKey: ServiceContextKey {
    typealias Value = RequestTrace
}

extension ServiceContext {
    package var requestTrace: RequestTrace? {
        get { self[RequestTraceKey.self] }
        set { self[RequestTraceKey.self] = newValue }
    }
}
