import CNATS
import Dispatch
import Logging

/// What NATS refuses to begin with; what goes wrong later heals by itself.
public struct NATSError: Error, Hashable, CustomStringConvertible {
    public let description: String
}

/// A connection to NATS, made again whenever it is lost or given up.
final class NATSLink: @unchecked Sendable {
    // Unchecked: the pointers are touched on the queue alone, but for the options, which nobody changes.

    /// libnats may block for a moment, so it has a thread to do so.
    let queue = DispatchQueue(label: "nats")
    private let options: OpaquePointer
    private let events: NATSEvents
    private let logger: Logger
    private var connection: OpaquePointer?
    private var subscriptions: [ObjectIdentifier: [OpaquePointer]] = [:]
    private var isStopped = false
    /// Said once, and not at each attempt.
    private var isKnownDisconnected = false

    init(url: String, name: String, metrics: EventBusMetrics, logger: Logger) throws {
        try Self.check(url)
        events = NATSEvents(metrics: metrics, logger: logger)
        self.logger = logger
        var options: OpaquePointer?
        try Self.check(natsOptions_Create(&options))
        guard let options else { throw NATSError(description: "there is no memory for NATS' options") }
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
            // What is said while it is away is hardly worth keeping; at the bound it is dropped, and that is told.
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

    /// Connects, and calls back each time it has.
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

    /// Its subscriptions end, and nothing is sent any more.
    func stop(_ body: @escaping @Sendable () -> Void = {}) {
        queue.async { [self] in
            isStopped = true
            events.finish()
            disconnect()
            body()
        }
    }

    /// On the queue; false where there is no room for it.
    func publish(_ text: String, on subject: String) -> Bool {
        guard let connection else { return false }
        return natsConnection_PublishString(connection, subject, text) == NATS_OK
    }

    /// By the topic of each subject.
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

    /// Until there is a connection, which libnats keeps from then on.
    ///
    /// It could be told to make the first one too; it closes that for good, though, when a server takes the connection
    /// and says nothing in time (`_connect` of 3.4 forgets which server it was).
    private func connect() {
        guard !isStopped else { return }
        // Kept by the callbacks until the connection is closed for good.
        let retained = Unmanaged.passRetained(events)
        let status = natsConnection_Connect(&connection, options)
        guard status == NATS_OK else {
            retained.release()
            connection = nil
            if !isKnownDisconnected {
                logger.warning("nats cannot be connected to", metadata: ["reason": "\(Self.text(status))"])
            }
            isKnownDisconnected = true
            return connect(after: .milliseconds(500))
        }
        isKnownDisconnected = false
        for listener in events.listeners { subscribe(listener) }
        natsIsConnected(connection, retained.toOpaque())
    }

    private func connect(after pause: DispatchTimeInterval) {
        queue.asyncAfter(deadline: .now() + pause) { [weak self] in self?.connect() }
    }

    /// libnats gives up a connection that a server ends with an error, as one does whose users have changed.
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
                logger.error("nats refuses to subscribe", metadata: ["reason": "\(Self.text(status))"])
                return nil
            }
            natsSubscription_SetOnCompleteCB(subscription, natsIsComplete, retained.toOpaque())
            natsSubscription_SetPendingLimits(subscription, 4_096, 8_388_608)
            return subscription
        }
    }

    /// That it is heard from now on, if it is: a listener is known a little before it is subscribed.
    private func notifyMissed(_ listener: NATSListener) {
        if subscriptions[ObjectIdentifier(listener)] != nil { listener.deliver(.missed) }
    }

    private func remove(_ listener: NATSListener) {
        events.remove(listener)
        for subscription in subscriptions.removeValue(forKey: ObjectIdentifier(listener)) ?? [] {
            natsSubscription_Destroy(subscription)
        }
    }

    /// Goes on once the server has taken all that it was told: a subscription hears what is published from then on.
    ///
    /// A server that is slow is asked again; one that is away is announced when it is back.
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

    /// libnats reads it only when it connects, and goes on trying what cannot be.
    private static func check(_ url: String) throws {
        let isServer = url.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { server in
            let parts = server.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
            let name = server.drop { $0 == " " }
            return parts.count == 2 && !parts[1].isEmpty && (name.hasPrefix("nats://") || name.hasPrefix("tls://"))
        }
        // Not quoted: it may have a password in it.
        guard isServer else { throw NATSError(description: "a server is nats://host:port or tls://host:port") }
    }

    private static func check(_ status: natsStatus) throws {
        guard status == NATS_OK else { throw NATSError(description: text(status)) }
    }

    static func text(_ status: natsStatus) -> String {
        natsStatus_GetText(status).map { String(cString: $0) } ?? "status \(status.rawValue)"
    }
}
