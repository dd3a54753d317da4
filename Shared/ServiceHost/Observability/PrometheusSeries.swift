import CoreMetrics
import Locks

/// A counter or a gauge.
final class PrometheusNumber: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
    enum Kind: String, Sendable { case counter, gauge }

    let kind: Kind
    private let stored = Lock(0.0)

    init(_ kind: Kind) {
        self.kind = kind
    }

    var value: Double { stored.withLock { $0 } }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { stored.withLock { $0 += amount } }
    func decrement(by amount: Double) { stored.withLock { $0 -= amount } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { stored.withLock { $0 = value } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func reset() { set(0.0) }
}

/// A histogram with fixed buckets.
final class PrometheusHistogram: TimerHandler, RecorderHandler {
    /// The upper bounds for durations in seconds, from 0.5 ms to 10 s.
    static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// The upper bounds for counts and bytes.
    static let sizes = [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576]

    private struct State {
        var counts: [Int]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Lock<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        state = Lock(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func lines(name: String, dimensions: String) -> [String] {
        let state = state.withLock { $0 }
        let prefix = dimensions.isEmpty ? "" : "\(dimensions),"
        let suffix = dimensions.isEmpty ? "" : "{\(dimensions)}"
        var cumulative = 0
        var lines: [String] = []
        for (index, count) in state.counts.enumerated() {
            cumulative += count
            let bound = index < bounds.count ? "\(bounds[index])" : "+Inf"
            lines.append("\(name)_bucket{\(prefix)le=\"\(bound)\"} \(cumulative)")
        }
        lines.append("\(name)_sum\(suffix) \(state.sum)")
        lines.append("\(name)_count\(suffix) \(cumulative)")
        return lines
    }
}
