import CoreMetrics
import ServiceHost
import Testing

@Suite("Prometheus metrics") struct PrometheusTests {
    @Test("Metrics are written in the text format")
    func textFormat() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "roost.requests-total", dimensions: [("path", "a\"b\\c\nd")]).increment(by: 3)
        registry.makeTimer(label: "roost_seconds", dimensions: []).recordNanoseconds(2_000_000)

        let text = registry.text()

        #expect(
            text.contains("# TYPE roost_requests_total counter\nroost_requests_total{path=\"a\\\"b\\\\c\\nd\"} 3.0")
        )
        #expect(text.contains("roost_seconds_bucket{le=\"0.001\"} 0\n"))
        #expect(text.contains("roost_seconds_bucket{le=\"0.0025\"} 1\n"))
        #expect(text.contains("roost_seconds_bucket{le=\"+Inf\"} 1\nroost_seconds_sum 0.002\nroost_seconds_count 1\n"))
    }

    @Test("Series beyond the limit are dropped and counted")
    func seriesLimit() {
        let registry = PrometheusRegistry()
        for index in 0..<6_000 {
            registry.makeCounter(label: "many", dimensions: [("n", "\(index)")]).increment(by: 1)
        }

        #expect(registry.text().contains("roost_metrics_dropped_series 1000"))
    }
}
