import CNATS
import Locks
import Logging
import Metrics

/// The callbacks that libnats invokes on its own threads, forwarded to the bus's subscribers.
final class NATSEvents: Sendable {
    private struct State {
        var listeners: [NATSListener] = []
        var onConnected: (@Sendable () -> Void)?
        var onClosed: (@Sendable () -> Void)?
        var isFinished = false
    }

    private let state = Lock(State())
    private let metrics: EventBusMetrics
    private let logger: Logger

    init(metrics: EventBusMetrics, logger: Logger) {
        self.metrics = metrics
        self.logger = logger
    }

    var listeners: [NATSListener] { state.withLock { $0.listeners } }

    /// Adds a listener; returns false if the bus is shut down.
    func add(_ listener: NATSListener) -> Bool {
        state.withLock { state in
            guard !state.isFinished else { return false }
            state.listeners.append(listener)
            return true
        }
    }

    func remove(_ listener: NATSListener) {
        state.withLock { $0.listeners.removeAll { $0 === listener } }
    }

    /// Sets the handlers of connection events.
    ///
    /// - Parameters:
    ///   - connected: called after each connection or reconnection.
    ///   - closed: called when libnats gives up a connection permanently, unless the bus closed it.
    func handle(connected: @escaping @Sendable () -> Void, closed: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.onConnected = connected
            state.onClosed = closed
        }
    }

    func finish() {
        let listeners = state.withLock { state in
            defer { state.listeners = [] }
            state.isFinished = true
            state.onConnected = nil
            state.onClosed = nil
            return state.listeners
        }
        for listener in listeners { listener.finish() }
    }

    fileprivate func connected() {
        metrics.connected.record(1)
        logger.info("nats connected")
        let body = state.withLock { $0.onConnected }
        body?()
    }

    fileprivate func disconnected() {
        metrics.connected.record(0)
        if !state.withLock({ $0.isFinished }) { logger.warning("nats connection lost") }
    }

    fileprivate func closed() {
        guard let body = state.withLock({ $0.onClosed }) else { return }
        logger.warning("nats connection closed")
        body()
    }

    fileprivate func failed(_ status: natsStatus) {
        guard status == NATS_SLOW_CONSUMER else {
            // For example a forbidden subject: the connection stays open, but that subject transfers no messages.
            return logger.error("nats error", metadata: ["reason": "\(NATSLink.text(status))"])
        }
        for listener in listeners { listener.deliver(.missed) }
    }
}

/// A subscriber whose messages arrive on libnats's threads.
final class NATSListener: Sendable {
    let topics: [String: String]
    private let continuation: AsyncStream<EventSubscription.Received>.Continuation
    private let hasMissed = Lock(false)

    init(topics: [String: String], continuation: AsyncStream<EventSubscription.Received>.Continuation) {
        self.topics = topics
        self.continuation = continuation
    }

    /// Delivers an event; if the subscriber's buffer is full, the event is dropped and `.missed` is delivered later.
    func deliver(_ received: EventSubscription.Received) {
        hasMissed.withLock { hasMissed in
            if hasMissed {
                guard case .enqueued = continuation.yield(.missed) else { return }
                hasMissed = false
            }
            if case .dropped = continuation.yield(received) { hasMissed = true }
        }
    }

    /// Delivers `.missed` if events were dropped and the buffer has space now.
    func catchUp() {
        hasMissed.withLock { hasMissed in
            guard hasMissed, case .enqueued = continuation.yield(.missed) else { return }
            hasMissed = false
        }
    }

    func finish() {
        continuation.finish()
    }
}

// The C callbacks, at file scope so that they are not isolated to an actor. libnats holds a reference to each closure.

func natsIsConnected(_: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSEvents>.fromOpaque($0).takeUnretainedValue() }?.connected()
}

func natsIsDisconnected(_: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSEvents>.fromOpaque($0).takeUnretainedValue() }?.disconnected()
}

/// The last callback of a connection; releases its reference.
func natsIsClosed(_: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSEvents>.fromOpaque($0).takeRetainedValue() }?.closed()
}

func natsHasFailed(
    _: OpaquePointer?,
    _: OpaquePointer?,
    _ status: natsStatus,
    _ closure: UnsafeMutableRawPointer?
) {
    closure.map { Unmanaged<NATSEvents>.fromOpaque($0).takeUnretainedValue() }?.failed(status)
}

func natsHasMessage(
    _: OpaquePointer?,
    _: OpaquePointer?,
    _ message: OpaquePointer?,
    _ closure: UnsafeMutableRawPointer?
) {
    defer { natsMsg_Destroy(message) }
    guard let closure, let message, let subject = natsMsg_GetSubject(message), let data = natsMsg_GetData(message)
    else { return }
    let listener = Unmanaged<NATSListener>.fromOpaque(closure).takeUnretainedValue()
    let bytes = UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(message)))
    let topic = listener.topics[String(cString: subject)]
    guard let topic else { return }
    listener.deliver(.payload(EventPayload(topic: topic, text: String(decoding: bytes, as: UTF8.self))))
}

/// The last callback of a subscription; releases its reference.
func natsIsComplete(_ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSListener>.fromOpaque($0).release() }
}
