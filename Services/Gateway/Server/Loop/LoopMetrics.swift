import Metrics

/// The gateway's metrics, looked up once on each loop.
///
/// Not Sendable by intent: one for each event loop, which shares the numbers with the others through the backend.
final class LoopMetrics {
    private let routes: [Route]
    /// By route and status class, made when first used; the last route stands for none.
    private var responses: [Counter?]
    private let durations = Metrics.Timer(label: "roost_gateway_request_duration_seconds")
    let tunnels = Counter(label: "roost_gateway_tunnels_total")
    /// Requests that named a session of an instance that there is not, or not any more.
    let unknownSessions = Counter(label: "roost_gateway_unknown_sessions_total")
    let connections = Counter(label: "roost_gateway_connections_accepted_total")
    let http2Connections = Counter(label: "roost_gateway_http2_connections_total")
    /// HTTP/2 connections that were closed because the client broke the rules, or flooded.
    let http2Violations = Counter(label: "roost_gateway_http2_violations_total")
    let failedHandshakes = Counter(label: "roost_gateway_tls_handshake_failures_total")
    let upstreamConnections = Counter(label: "roost_gateway_upstream_connections_total")

    init(routes: [Route]) {
        self.routes = routes
        responses = Array(repeating: nil, count: (routes.count + 1) * 6)
    }

    /// Counts an answered request; how long it took tells nothing of one that was held on purpose.
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
