import CNATS
import Dispatch
import Logging

/// An invalid NATS URL or option; later failures are retried and not thrown.
public struct NATSError: Error, Hashable, CustomStringConvertible {
    /// The reason in one sentence, without the URL.
    public let description: String
}

/// A connection to NATS that reconnects after every loss.
final class NATSLink: @unchecked Sendable {
    // Unchecked: only the queue uses the pointers, except for the options, which are immutable.

    /// The queue for libnats calls, which may block briefly.
    let queue = DispatchQueue(label: "nats")
    private let options: OpaquePointer
    private let events: NATSEvents
    private let logger: Logger
    private var connection: OpaquePointer?
    private var subscriptions: [ObjectIdentifier: [OpaquePointer]] = [:]
    private var isStopped = false
    /// Whether the current outage was logged, so that repeated attempts do not log it again.
    private var hasLoggedOutage = false

    init(url: String, name: String, metrics: EventBusMetrics, logger: Logger) throws {
        try Self.check(url)
        events = NATSEvents(metrics: metrics, logger: logger)
        self.logger = logger
        var options: OpaquePointer?
        try Self.check(natsOptions_Create(&options))
        guard let options else { throw NATSError(description: "NATS options cannot be allocated") }
        self.options = options
        do {
            let events = Unmanaged.passUnretained(events).toOpaque()
            try Self.check(natsOptions_SetURL(options, url))
            try Self.check(natsOptions_SetName(options, name))
            try Self.check(natsOptions_SetSendAsap(options, true))
            try Self.check(natsOptions_SetNoEcho(options, true))
            try Self.check(natsOptions_SetTimeout(options, 2_000))
            try Self.check(natsOptions_SetWriteDeadline(options, 1_000))
            try Self.check(natsOptions_SetPingInterval(options, 5_000))
            try Self.check(natsOptions_SetMaxPingsOut(options, 2))
            try Self.check(natsOptions_SetMaxReconnect(options, -1))
            try Self.check(natsOptions_SetReconnectWait(options, 200))
            try Self.check(natsOptions_SetReconnectJitter(options, 100, 100))
            // Messages published during an outage have little value. Beyond this limit they are dropped, which
            // subscribers learn.
            try Self.check(natsOptions_SetReconnectBufSize(options, 65_536))
            try Self.check(natsOptions_SetReconnectedCB(options, natsIsConnected, events))
            try Self.check(natsOptions_SetDisconnectedCB(options, natsIsDisconnected, events))
            try Self.check(natsOptions_SetClosedCB(options, natsIsClosed, events))
            try Self.check(natsOptions_SetErrorHandler(options, natsHasFailed, events))
        } catch {
            natsOptions_Destroy(options)
            throw error
        }
    }

    deinit {
        natsOptions_Destroy(options)
    }

    /// Connects in the background; calls `onConnected` after each connection or reconnection.
    func start(_ onConnected: @escaping @Sendable () -> Void) {
        events.handle(
            connected: { [weak self] in
                guard let self else { return }
                queue.async { self.announceConnected(onConnected) }
            },
            closed: { [weak self] in
                guard let self else { return }
                queue.async { self.reconnect() }
            }
        )
        queue.async { self.connect() }
    }

    /// Ends all subscriptions and closes the connection, then calls `body`.
    func stop(_ body: @escaping @Sendable () -> Void = {}) {
        queue.async { [self] in
            isStopped = true
            events.finish()
            disconnect()
            body()
        }
    }

    /// Publishes a message on the queue; returns false if there is no connection or no buffer space.
    func publish(_ text: String, on subject: String) -> Bool {
        guard let connection else { return false }
        return natsConnection_PublishString(connection, subject, text) == NATS_OK
    }

    /// Subscribes to subjects.
    ///
    /// - Parameter topics: the topic of each subject.
    /// - Returns: the source of the received events.
    func listen(_ topics: [String: String]) -> EventSubscription.Source {
        let (stream, continuation) = AsyncStream.makeStream(
            of: EventSubscription.Received.self,
            bufferingPolicy: .bufferingOldest(EventBusLimits.maximumUndelivered)
        )
        let listener = NATSListener(topics: topics, continuation: continuation)
        guard events.add(listener) else {
            continuation.finish()
            return .stream(stream) {}
        }
        continuation.onTermination = { [weak self, weak listener] _ in
            guard let self, let listener else { return }
            self.queue.async { self.remove(listener) }
        }
        queue.async {
            self.subscribe(listener)
            self.onceSubscribed { [weak self, weak listener] in
                guard let self, let listener else { return }
                self.notifyMissed(listener)
            }
        }
        return .stream(stream) { [weak listener] in listener?.catchUp() }
    }

    // MARK: On the queue

    /// Connects, and retries every 0.5 s until it succeeds; libnats handles later reconnects.
    ///
    /// libnats could also retry the first connection, but 3.4 gives up permanently if a server accepts the connection
    /// and then does not respond: its `_connect` loses the server's address.
    private func connect() {
        guard !isStopped else { return }
        // The callbacks own this reference until the connection is closed permanently.
        let retained = Unmanaged.passRetained(events)
        let status = natsConnection_Connect(&connection, options)
        guard status == NATS_OK else {
            retained.release()
            connection = nil
            if !hasLoggedOutage {
                logger.warning("nats connection failed", metadata: ["reason": "\(Self.text(status))"])
            }
            hasLoggedOutage = true
            return connect(after: .milliseconds(500))
        }
        hasLoggedOutage = false
        for listener in events.listeners { subscribe(listener) }
        natsIsConnected(connection, retained.toOpaque())
    }

    private func connect(after pause: DispatchTimeInterval) {
        queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.connect() }
    }

    /// Opens a new connection after libnats gave up the old one because the server closed it with an error, for example
    /// after its users changed.
    private func reconnect() {
        guard !isStopped else { return }
        disconnect()
        connect(after: .milliseconds(500))
    }

    private func disconnect() {
        for subscription in subscriptions.values.joined() { natsSubscription_Destroy(subscription) }
        subscriptions = [:]
        if let connection {
            natsConnection_Close(connection)
            natsConnection_Destroy(connection)
        }
        connection = nil
    }

    private func subscribe(_ listener: NATSListener) {
        guard let connection, subscriptions[ObjectIdentifier(listener)] == nil else { return }
        subscriptions[ObjectIdentifier(listener)] = listener.topics.keys.compactMap { subject in
            var subscription: OpaquePointer?
            let retained = Unmanaged.passRetained(listener)
            let status = natsConnection_Subscribe(
                &subscription,
                connection,
                subject,
                natsHasMessage,
                retained.toOpaque()
            )
            guard status == NATS_OK, let subscription else {
                retained.release()
                logger.error("nats subscription failed", metadata: ["reason": "\(Self.text(status))"])
                return nil
            }
            natsSubscription_SetOnCompleteCB(subscription, natsIsComplete, retained.toOpaque())
            natsSubscription_SetPendingLimits(subscription, 4_096, 8_388_608)
            return subscription
        }
    }

    /// Delivers `.missed` if the listener is subscribed; a listener is registered shortly before its subscription
    /// exists.
    private func notifyMissed(_ listener: NATSListener) {
        if subscriptions[ObjectIdentifier(listener)] != nil { listener.deliver(.missed) }
    }

    private func remove(_ listener: NATSListener) {
        events.remove(listener)
        for subscription in subscriptions.removeValue(forKey: ObjectIdentifier(listener)) ?? [] {
            natsSubscription_Destroy(subscription)
        }
    }

    /// Calls `body` when the server has processed all subscriptions, so that later messages will be received.
    ///
    /// A slow server is polled every second. If the connection is down, the notification follows after the reconnect.
    private func onceSubscribed(_ body: @escaping @Sendable () -> Void) {
        guard !isStopped, let connection else { return }
        guard natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED else { return }
        if natsConnection_FlushTimeout(connection, 1_000) == NATS_OK { return body() }
        queue.asyncAfter(deadline: .now() + 1) { [weak self] in self?.onceSubscribed(body) }
    }

    private func announceConnected(_ onConnected: @escaping @Sendable () -> Void) {
        onceSubscribed { [weak self] in
            guard let self else { return }
            for listener in self.events.listeners { self.notifyMissed(listener) }
            onConnected()
        }
    }

    /// Checks the form of a server list; libnats would check it only when connecting, and would retry an invalid URL
    /// forever.
    private static func check(_ url: String) throws {
        let isServer = url.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { server in
            let parts = server.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
            let name = server.drop { $0 == " " }
            return parts.count == 2 && !parts[1].isEmpty && (name.hasPrefix("nats://") || name.hasPrefix("tls://"))
        }
        // The message does not quote the URL, which may contain a password.
        guard isServer else { throw NATSError(description: "each server must be nats://host:port or tls://host:port") }
    }

    private static func check(_ status: natsStatus) throws {
        guard status == NATS_OK else { throw NATSError(description: text(status)) }
    }

    static func text(_ status: natsStatus) -> String {
        natsStatus_GetText(status).map { String(cString: $0) } ?? "status \(status.rawValue)"
    }
}
