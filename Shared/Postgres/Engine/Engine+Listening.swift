import CLibpq
import Logging

/// A subscriber's channels and the connection that listens for them.
final class Subscription: @unchecked Sendable {
    // Unchecked: the constants are Sendable; only the engine thread uses the rest.
    let channels: [String]
    let continuation: AsyncStream<PostgresListener.Event>.Continuation
    var connection: Connection?
    var hasMissed = false
    var nextKeepalive: Int64 = 0

    init(channels: [String], continuation: AsyncStream<PostgresListener.Event>.Continuation) {
        self.channels = channels
        self.continuation = continuation
    }

    /// Delivers an event; if the subscriber's buffer is full, the event is dropped and `.reconnected` is delivered
    /// later.
    func deliver(_ event: PostgresListener.Event) {
        if hasMissed {
            guard case .enqueued = continuation.yield(.reconnected) else { return }
            hasMissed = false
        }
        if case .dropped = continuation.yield(event) { hasMissed = true }
    }

    /// Reports missed events to a subscriber whose buffer was full, if it has space now.
    func catchUp() {
        guard hasMissed, case .enqueued = continuation.yield(.reconnected) else { return }
        hasMissed = false
    }

    func finish() {
        continuation.finish()
    }
}

extension Engine {
    /// Listens on channels until the caller drops the stream.
    func listen(_ channels: [String]) -> AsyncStream<PostgresListener.Event> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PostgresListener.Event.self,
            bufferingPolicy: .bufferingOldest(max(1, configuration.notificationBuffer))
        )
        let subscription = Subscription(channels: channels, continuation: continuation)
        start()
        guard post(.subscribe(subscription)) else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self, weak subscription] _ in
            guard let self, let subscription else { return }
            _ = self.post(.unsubscribe(subscription))
        }
        return stream
    }

    func listen(_ subscription: Subscription, on connection: Connection) {
        subscription.nextKeepalive = now + configuration.keepaliveInterval.nanoseconds
        let statements = subscription.channels.map { "LISTEN \(PostgresQuery.quoted(identifier: $0))" }
        for (index, sql) in statements.enumerated() {
            let segment = Segment(.plain(sql), timeout: Self.maintenanceTimeout, purpose: .maintenance)
            let isLast = index == statements.count - 1
            segment.onCompletion = { [weak self, weak connection] result in
                switch result {
                case .success: if isLast { subscription.deliver(.reconnected) }
                case .failure(let error):
                    guard let self, let connection, !connection.isClosed else { return }
                    self.logger.error("postgres listen failed", metadata: ["reason": "\(error)"])
                    self.backoff.failed(startedAt: self.now, now: self.now)
                    self.lose(connection, because: .broken)
                }
            }
            transmit(segment, on: connection)
        }
    }

    func deliverNotifications(on connection: Connection) {
        while let notification = PQnotifies(connection.handle) {
            defer { PQfreemem(notification) }
            guard case .listener(let subscription) = connection.role else { continue }
            let channel = String(cString: notification.pointee.relname)
            let payload = String(cString: notification.pointee.extra)
            subscription.deliver(.notification(channel: channel, payload: payload))
        }
    }

    /// Sends a periodic query on a listening connection, because an idle connection does not report a lost peer.
    func keepAlive(_ subscription: Subscription) {
        subscription.catchUp()
        guard now >= subscription.nextKeepalive, let connection = subscription.connection, connection.isReady,
            connection.inFlight.isEmpty
        else { return }
        subscription.nextKeepalive = now + configuration.keepaliveInterval.nanoseconds
        transmit(Segment(.plain("SELECT 1"), timeout: Monotonic.second, purpose: .maintenance), on: connection)
    }

    func drop(_ subscription: Subscription) {
        subscriptions.removeAll { $0 === subscription }
        if let connection = subscription.connection { lose(connection, because: .shutdown) }
        subscription.finish()
    }
}
