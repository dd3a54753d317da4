import Logging

/// What is noted of each request that is answered: a line in the log, a figure in the metrics.
struct RequestRecorder: Sendable {
    let timers: RequestTimers
    let drain: Drain

    init(service: String, drain: Drain) {
        timers = RequestTimers(service: service)
        self.drain = drain
    }

    /// Whether the connection ends with this answer: the service is about to stop.
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
