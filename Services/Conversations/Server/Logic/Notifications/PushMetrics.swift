import Metrics

/// The metrics of the push outbox.
struct PushMetrics: Sendable {
    /// The recipients of notifications, counted once per message.
    let notified = Counter(label: "roost_conversations_push_notified_total")
    let unavailable = Counter(label: "roost_conversations_push_failures_total", dimensions: [("reason", "away")])
    let refused = Counter(label: "roost_conversations_push_failures_total", dimensions: [("reason", "refused")])
    let waiting = Gauge(label: "roost_conversations_push_outbox_rows")
    let oldest = Gauge(label: "roost_conversations_push_outbox_oldest_age_seconds")
}
