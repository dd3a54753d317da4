import Metrics

/// What is counted of notifications that are handed over.
struct PushMetrics: Sendable {
    /// People, once for each message that they are told of.
    let notified = Counter(label: "roost_conversations_push_notified_total")
    let away = Counter(label: "roost_conversations_push_failures_total", dimensions: [("reason", "away")])
    let refused = Counter(label: "roost_conversations_push_failures_total", dimensions: [("reason", "refused")])
    let waiting = Gauge(label: "roost_conversations_push_outbox_rows")
    let oldest = Gauge(label: "roost_conversations_push_outbox_oldest_age_seconds")
}
