import Metrics
import NIOCore

/// The metrics of one instance; the metrics backend adds the values of all event loops.
final class InstanceMetrics: Sendable {
    private let requests: [Counter]
    private let latency: Metrics.Timer
    private let unanswered: Counter
    private let refusals: Counter
    private let ejections: Counter
    private let isInRotation: Gauge
    private let circuit: Gauge
    private let idleConnections: Meter
    private let busyConnections: Meter
    private let tunnels: Meter

    init(service: String, instance: UpstreamInstance) {
        let names = [("service", service), ("instance", instance.authority)]
        func counter(_ what: String, _ more: (String, String)? = nil) -> Counter {
            Counter(label: "roost_gateway_upstream_\(what)_total", dimensions: names + (more.map { [$0] } ?? []))
        }
        func connections(_ state: String) -> Meter {
            Meter(label: "roost_gateway_upstream_pool_connections", dimensions: names + [("state", state)])
        }
        requests = (0...5).map { counter("requests", ("status", "\($0)xx")) }
        latency = Metrics.Timer(label: "roost_gateway_upstream_response_duration_seconds", dimensions: names)
        unanswered = counter("failures", ("kind", "unanswered"))
        refusals = counter("failures", ("kind", "refusal"))
        ejections = counter("ejections")
        isInRotation = Gauge(label: "roost_gateway_upstream_in_rotation", dimensions: names)
        circuit = Gauge(label: "roost_gateway_upstream_circuit_state", dimensions: names)
        idleConnections = connections("idle")
        busyConnections = connections("busy")
        tunnels = connections("tunnel")
    }

    /// Counts a response; `time` is nil for a response that was held on purpose.
    func recordResponse(_ status: UInt, after time: TimeAmount?) {
        requests[min(Int(status / 100), 5)].increment()
        if let time { latency.recordNanoseconds(time.nanoseconds) }
    }

    func failed(_ failure: InstanceHealth.Failure) {
        switch failure {
        case .unanswered: unanswered.increment()
        case .errorStatus: refusals.increment()
        }
    }

    /// Applies a change of one loop's pool; the metrics show the sum over all loops.
    func resized(from previous: PoolSize, to size: PoolSize) {
        idleConnections.increment(by: Double(size.idle - previous.idle))
        busyConnections.increment(by: Double(size.busy - previous.busy))
        tunnels.increment(by: Double(size.tunnels - previous.tunnels))
    }

    func recordGauges(_ healthStatus: InstanceHealth.HealthStatus, ejected: Bool = false) {
        if ejected { ejections.increment() }
        isInRotation.record(healthStatus.isReady && !healthStatus.isEjected ? 1 : 0)
        circuit.record(healthStatus.circuit.rawValue)
    }
}

struct PoolSize: Equatable {
    var idle = 0
    var busy = 0
    var tunnels = 0
}
