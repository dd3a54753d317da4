import CNATS
import Locks
import Logging
import Metrics

/// What libnats tells from threads of its own, and to whom it is handed on.
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

    /// False: it is over.
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

    /// - Parameters:
    ///   - connected: called each time it is connected.
    ///   - closed: called when a connection is given up for good, which nobody asked for.
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
        logger.info("nats is connected")
        let body = state.withLock { $0.onConnected }
        body?()
    }

    fileprivate func disconnected() {
        metrics.connected.record(0)
        if !state.withLock({ $0.isFinished }) { logger.warning("nats is lost") }
    }

    fileprivate func closed() {
        guard let body = state.withLock({ $0.onClosed }) else { return }
        logger.warning("nats has closed the connection")
        body()
    }

    fileprivate func failed(_ status: natsStatus) {
        guard status == NATS_SLOW_CONSUMER else {
            // A subject that is not permitted, say: it stays connected, and hears or says nothing there.
            return logger.error("nats refuses something", metadata: ["reason": "\(NATSLink.text(status))"])
        }
        for listener in listeners { listener.deliver(.missed) }
    }
}

/// A subscriber, as libnats' thread sees it.
final class NATSListener: Sendable {
    let topics: [String: String]
    private let continuation: AsyncStream<EventSubscription.Received>.Continuation
    private let hasMissed = Lock(false)

    init(topics: [String: String], continuation: AsyncStream<EventSubscription.Received>.Continuation) {
        self.topics = topics
        self.continuation = continuation
    }

    /// What there is no room for is dropped, and the subscriber is told so with what comes next.
    func deliver(_ received: EventSubscription.Received) {
        hasMissed.withLock { hasMissed in
            if hasMissed {
                guard case .enqueued = continuation.yield(.missed) else { return }
                hasMissed = false
            }
            if case .dropped = continuation.yield(received) { hasMissed = true }
        }
    }

    /// There is room again: it is told what it has missed.
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

// Callbacks; at file scope, so that they are of no actor. What they are given was retained for them.

func natsIsConnected(_: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSEvents>.fromOpaque($0).takeUnretainedValue() }?.connected()
}

func natsIsDisconnected(_: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSEvents>.fromOpaque($0).takeUnretainedValue() }?.disconnected()
}

/// The last that is heard of a connection.
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

/// The last that is heard of a subscription.
func natsIsComplete(_ closure: UnsafeMutableRawPointer?) {
    closure.map { Unmanaged<NATSListener>.fromOpaque($0).release() }
}
