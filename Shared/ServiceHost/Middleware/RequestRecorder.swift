import Logging

/// The record of each request: a log line and a metric.
struct RequestRecorder: Sendable {
    let timers: RequestTimers
    let drain: Drain

    init(service: String, drain: Drain) {
        timers = RequestTimers(service: service)
        self.drain = drain
    }

    /// Records a request.
    ///
    /// - Returns: true if the service is draining, so that the connection closes after this response.
    func record(
        _ method: String,
        _ route: String,
        _ status: Int,
        since start: ContinuousClock.Instant,
        _ logger: Logger
    ) -> Bool {
        let isDraining = drain.isDraining
        if isDraining, !HealthRoutes.paths.contains(route) { drain.served() }
        let duration = start.duration(to: .now)
        let key = RequestTimers.Key(method: method, route: route, status: status)
        timers.record(key, nanoseconds: duration.nanoseconds)
        logger.log(
            level: HealthRoutes.level(of: route, status: status),
            "request",
            metadata: [
                "method": "\(method)", "route": "\(route)", "status": "\(status)",
                "milliseconds": "\(duration.milliseconds)",
            ]
        )
        return isDraining
    }
}
