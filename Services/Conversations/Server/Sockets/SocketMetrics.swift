import Locks
import Metrics
import NIOCore
import Synchronization

/// The metrics of sockets and their requests.
final class SocketMetrics: Sendable {
    private struct Key: Hashable {
        let event: String
        let code: Int
    }

    private let open = Atomic<Int>(0)
    private let gauge = Gauge(label: "roost_conversations_sockets")
    private let durations = Metrics.Timer(label: "roost_conversations_socket_request_duration_seconds")
    private let requests = Lock<[Key: Counter]>([:])

    func opened() { gauge.record(open.add(1, ordering: .relaxed).newValue) }

    func closed() { gauge.record(open.subtract(1, ordering: .relaxed).newValue) }

    /// Records a response; `event` is the name of a known event, or `unknown`.
    func recordResponse(_ event: String, _ code: Int, since began: NIODeadline) {
        durations.recordNanoseconds((NIODeadline.now() - began).nanoseconds)
        requests.withLock { requests in
            let key = Key(event: event, code: code)
            let counter =
                requests[key]
                ?? Counter(
                    label: "roost_conversations_socket_requests_total",
                    dimensions: [("event", event), ("code", "\(code)")]
                )
            requests[key] = counter
            return counter
        }.increment()
    }
}
