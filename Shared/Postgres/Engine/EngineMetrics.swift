import Metrics

/// The metrics of a pool; each name starts with `postgres_` and has a `pool` label.
struct EngineMetrics {
    private let open: Gauge
    private let waiting: Gauge
    private let inFlight: Gauge
    private let reads: Metrics.Timer
    private let writes: Metrics.Timer
    private let reconnects: Counter
    private let losses: Counter
    private let pool: String

    init(pool: String) {
        self.pool = pool
        let pool = ("pool", pool)
        open = Gauge(label: "postgres_connections_open", dimensions: [pool])
        waiting = Gauge(label: "postgres_queries_waiting", dimensions: [pool])
        inFlight = Gauge(label: "postgres_round_trips_in_flight", dimensions: [pool])
        reads = Metrics.Timer(label: "postgres_round_trip_duration_seconds", dimensions: [pool, ("kind", "read")])
        writes = Metrics.Timer(label: "postgres_round_trip_duration_seconds", dimensions: [pool, ("kind", "write")])
        reconnects = Counter(label: "postgres_reconnects_total", dimensions: [pool])
        losses = Counter(label: "postgres_connections_lost_total", dimensions: [pool])
    }

    func completed(_ segment: Segment, at now: Int64) {
        switch segment.purpose {
        case .read: reads.recordNanoseconds(now - segment.submittedAt)
        case .standalone, .transaction, .commit: writes.recordNanoseconds(now - segment.submittedAt)
        case .maintenance: break
        }
        if let state = segment.error?.sqlState {
            Counter(label: "postgres_errors_total", dimensions: [("pool", pool), ("class", String(state.prefix(2)))])
                .increment()
        }
    }

    func lost() {
        losses.increment()
    }

    func reconnected() {
        reconnects.increment()
    }

    func record(_ engine: Engine) {
        open.record(engine.connections.values.count(where: \.isReady))
        let inSessions = engine.sessions.reduce(0) { $0 + $1.waiting.count }
        waiting.record(engine.readsWaiting.count + engine.waiters.count + inSessions)
        inFlight.record(engine.connections.values.reduce(0) { $0 + $1.inFlight.count })
    }
}
