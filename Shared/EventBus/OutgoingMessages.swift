import Locks
import Metrics

/// The queue of messages to send, which combines them into few payloads.
///
/// If the queue exceeds a limit, all its messages are dropped, and subscribers receive `.missed`. They then read the
/// current state, so one event is enough.
final class OutgoingMessages: Sendable {
    private struct Key: Hashable {
        let topic: String
        let key: String
    }

    private struct State {
        var messages: [(topic: String, text: String)] = []
        var indices: [Key: Int] = [:]
        var bytes = 0
        /// The topics on which messages were dropped.
        var gaps: Set<String> = []
        var isSending = false
        var isClosed = false
    }

    private let sender: String
    private let metrics: EventBusMetrics
    private let state = Lock(State())

    init(sender: String, metrics: EventBusMetrics) {
        self.sender = sender
        self.metrics = metrics
    }

    /// Queues a message; returns true if no send is in progress, so the caller must start one.
    func add(_ message: String, on topic: String, replacing key: String?) -> Bool {
        guard let line = EventPayload.line(of: message) else {
            metrics.dropped.increment()
            return false
        }
        metrics.published.increment()
        return state.withLock { state in
            guard !state.isClosed else { return false }
            if let key = key.map({ Key(topic: topic, key: $0) }) {
                if let index = state.indices[key] {
                    state.bytes += line.utf8.count - state.messages[index].text.utf8.count
                    state.messages[index].text = line
                    return false
                }
                state.indices[key] = state.messages.count
            }
            state.messages.append((topic, line))
            state.bytes += line.utf8.count
            if state.messages.count > EventBusLimits.waitingMessages || state.bytes > EventBusLimits.waitingBytes {
                metrics.dropped.increment(by: state.messages.count)
                state.gaps.formUnion(state.messages.map(\.topic))
                clear(&state)
            }
            defer { state.isSending = true }
            return !state.isSending
        }
    }

    /// Removes all queued messages and returns them as payloads of at most `maximumPayload` bytes.
    ///
    /// - Parameter maximumPayload: the limit in bytes.
    /// - Returns: the payloads, or nil if the queue is empty; then the send is over.
    func take(maximumPayload: Int) -> [EventPayload]? {
        let (messages, gaps) = state.withLock { state in
            defer {
                clear(&state)
                state.gaps = []
            }
            state.isSending = !(state.messages.isEmpty && state.gaps.isEmpty)
            return (state.messages, state.gaps)
        }
        guard !(messages.isEmpty && gaps.isEmpty) else { return nil }
        var payloads = gaps.sorted().map { EventPayload(topic: $0, text: sender + "\n") }
        for (topic, messages) in Dictionary(grouping: messages, by: \.topic).sorted(by: { $0.key < $1.key }) {
            var text = sender
            for message in messages {
                if text.utf8.count + 1 + message.text.utf8.count > maximumPayload {
                    payloads.append(EventPayload(topic: topic, text: text))
                    text = sender
                }
                text += "\n"
                text += message.text
            }
            payloads.append(EventPayload(topic: topic, text: text))
        }
        return payloads
    }

    /// Records payloads that could not be sent as dropped; the send continues.
    func drop(_ payloads: [EventPayload]) {
        metrics.dropped.increment(by: payloads.count)
        state.withLock { $0.gaps.formUnion(payloads.map(\.topic)) }
    }

    /// Records payloads as dropped and ends the send, until a message is added or ``resume()`` is called.
    func pause(dropping payloads: [EventPayload]) {
        drop(payloads)
        state.withLock { $0.isSending = false }
    }

    /// Returns true if messages or gaps are queued and no send is in progress, so the caller must start one.
    func resume() -> Bool {
        state.withLock { state in
            guard !state.isSending, !(state.messages.isEmpty && state.gaps.isEmpty) else { return false }
            state.isSending = true
            return true
        }
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            clear(&state)
            state.gaps = []
        }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    private func clear(_ state: inout State) {
        state.messages = []
        state.indices = [:]
        state.bytes = 0
    }
}
