package import ServiceContextModule

/// What goes along with a request from service to service, so that its way can be followed in the logs.
package struct RequestTrace: Hashable, Sendable {
    /// `X-Request-Id`: 1–128 characters of `[A-Za-z0-9._-]`.
    package var requestID: String
    /// W3C `traceparent`.
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
