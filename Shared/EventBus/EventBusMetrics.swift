import Metrics

/// The metrics of a bus.
struct EventBusMetrics: Sendable {
    let published: Counter
    let sent: Counter
    let received: Counter
    let dropped: Counter
    let missed: Counter
    let connected: Gauge

    init(kind: String) {
        let dimensions = [("bus", kind)]
        published = Counter(label: "event_bus_published_messages_total", dimensions: dimensions)
        sent = Counter(label: "event_bus_sent_payloads_total", dimensions: dimensions)
        received = Counter(label: "event_bus_received_payloads_total", dimensions: dimensions)
        dropped = Counter(label: "event_bus_dropped_total", dimensions: dimensions)
        missed = Counter(label: "event_bus_missed_total", dimensions: dimensions)
        connected = Gauge(label: "event_bus_connected", dimensions: dimensions)
    }
}
