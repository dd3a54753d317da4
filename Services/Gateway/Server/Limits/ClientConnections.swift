import Locks
import Metrics

/// The open client connections of all event loops, in total and by address (IPv6: by /64).
final class ClientConnections: Sendable {
    private struct State {
        var total = 0
        var byAddress: [UInt64: Int] = [:]
    }

    private let state = Lock(State())
    private let gauge = Gauge(label: "roost_gateway_open_connections")
    private let refusals = Counter(label: "roost_gateway_connections_refused_total", dimensions: [("limit", "total")])
    private let addressRefusals = Counter(
        label: "roost_gateway_connections_refused_total",
        dimensions: [("limit", "address")]
    )
    private let evictions = Counter(label: "roost_gateway_connections_evicted_total")

    var count: Int { state.withLock(\.total) }

    /// Adds a connection and returns the new counts; a connection without a key counts only in the total.
    func add(_ key: UInt64?) -> (total: Int, ofAddress: Int) {
        state.withLock { state in
            state.total += 1
            guard let key else { return (state.total, 0) }
            state.byAddress[key, default: 0] += 1
            return (state.total, state.byAddress[key] ?? 0)
        }
    }

    func remove(_ key: UInt64?) {
        state.withLock { state in
            state.total -= 1
            guard let key, let count = state.byAddress[key] else { return }
            state.byAddress[key] = count > 1 ? count - 1 : nil
        }
    }

    func byAddress() -> [UInt64: Int] { state.withLock(\.byAddress) }

    func refused(isOfAddress: Bool) { (isOfAddress ? addressRefusals : refusals).increment() }

    func evicted(_ count: Int) { evictions.increment(by: count) }

    func recordGauges() { gauge.record(count) }
}
