package import CoreMetrics
import Locks

/// A registry of the metrics of swift-metrics, in the text format of Prometheus (0.0.4).
///
/// The number of series is limited to 5,000, so a label with too many values cannot exhaust the memory. Further series
/// are counted in `roost_metrics_dropped_series`.
package final class PrometheusRegistry: MetricsFactory, Sendable {
    private static let maximumSeries = 5_000

    struct Key: Hashable, Sendable {
        let label: String
        let dimensions: String

        init(_ label: String, _ dimensions: [(String, String)]) {
            self.label = Self.name(label)
            self.dimensions = dimensions.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
        }

        private static func name(_ text: String) -> String {
            String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") ? $0 : "_" })
        }

        private static func escaped(_ text: String) -> String {
            text.flatMap { character -> [Character] in
                switch character {
                case "\\": ["\\", "\\"]
                case "\"": ["\\", "\""]
                case "\n": ["\\", "n"]
                default: [character]
                }
            }.reduce(into: "") { $0.append($1) }
        }
    }

    private struct State {
        var numbers: [Key: PrometheusNumber] = [:]
        var histograms: [Key: PrometheusHistogram] = [:]
        var dropped = 0
        var series: Int { numbers.count + histograms.count }
    }

    private let state = Lock(State())

    package init() {}

    private func number(
        _ kind: PrometheusNumber.Kind,
        _ label: String,
        _ dimensions: [(String, String)]
    ) -> PrometheusNumber {
        let key = Key(label, dimensions)
        return state.withLock { state in
            if let existing = state.numbers[key] { return existing }
            let number = PrometheusNumber(kind)
            guard state.series < Self.maximumSeries else {
                state.dropped += 1
                return number
            }
            state.numbers[key] = number
            return number
        }
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)], bounds: [Double]) -> PrometheusHistogram {
        let key = Key(label, dimensions)
        return state.withLock { state in
            if let existing = state.histograms[key] { return existing }
            let histogram = PrometheusHistogram(bounds: bounds)
            guard state.series < Self.maximumSeries else {
                state.dropped += 1
                return histogram
            }
            state.histograms[key] = histogram
            return histogram
        }
    }

    /// Returns all series, sorted by name.
    package func text() -> String {
        let (numbers, histograms, dropped) = state.withLock { ($0.numbers, $0.histograms, $0.dropped) }
        var lines: [String] = []
        var lastName = ""
        func header(_ name: String, _ type: String) {
            if name != lastName { lines.append("# TYPE \(name) \(type)") }
            lastName = name
        }
        for (key, number) in numbers.sorted(by: {
            ($0.key.label, $0.key.dimensions) < ($1.key.label, $1.key.dimensions)
        }) {
            header(key.label, number.kind.rawValue)
            lines.append("\(key.label)\(key.dimensions.isEmpty ? "" : "{\(key.dimensions)}") \(number.value)")
        }
        for (key, histogram) in histograms.sorted(by: {
            ($0.key.label, $0.key.dimensions) < ($1.key.label, $1.key.dimensions)
        }) {
            header(key.label, "histogram")
            lines += histogram.lines(name: key.label, dimensions: key.dimensions)
        }
        lines.append("# TYPE roost_metrics_dropped_series gauge")
        lines.append("roost_metrics_dropped_series \(dropped)")
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        number(.counter, label, dimensions)
    }

    package func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        number(.counter, label, dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        number(.gauge, label, dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return number(.gauge, label, dimensions) }
        return histogram(label, dimensions, bounds: PrometheusHistogram.sizes)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions, bounds: PrometheusHistogram.seconds)
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
