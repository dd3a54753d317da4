import Metrics

/// The gateway's metrics on one event loop.
///
/// The class is intentionally not Sendable: each event loop has its own instance, and the metrics backend adds the
/// values.
final class LoopMetrics {
    private let routes: [Route]
    /// Counters by route and status class, created at first use; the last index is for requests without a route.
    private var responses: [Counter?]
    private let durations = Metrics.Timer(label: "roost_gateway_request_duration_seconds")
    let tunnels = Counter(label: "roost_gateway_tunnels_total")
    /// Requests with a session id whose instance does not exist or has been removed.
    let unknownSessions = Counter(label: "roost_gateway_unknown_sessions_total")
    let connections = Counter(label: "roost_gateway_connections_accepted_total")
    let http2Connections = Counter(label: "roost_gateway_http2_connections_total")
    /// HTTP/2 connections that were closed after a protocol violation or a flood.
    let http2Violations = Counter(label: "roost_gateway_http2_violations_total")
    let failedHandshakes = Counter(label: "roost_gateway_tls_handshake_failures_total")
    let upstreamConnections = Counter(label: "roost_gateway_upstream_connections_total")

    init(routes: [Route]) {
        self.routes = routes
        responses = Array(repeating: nil, count: (routes.count + 1) * 6)
    }

    /// Counts a completed request; `nanoseconds` is nil for a request that was held on purpose.
    func count(route: Route?, status: UInt, nanoseconds: Int64?) {
        let family = min(Int(status / 100), 5)
        let index = (route?.number ?? routes.count) * 6 + family
        let counter =
            responses[index]
            ?? Counter(
                label: "roost_gateway_requests_total",
                dimensions: [("route", route?.template ?? "none"), ("status", "\(family)xx")]
            )
        responses[index] = counter
        counter.increment()
        if let nanoseconds { durations.recordNanoseconds(nanoseconds) }
    }
}
