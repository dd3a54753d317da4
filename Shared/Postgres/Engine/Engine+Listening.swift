import CLibpq
import Logging

/// Somebody's interest in some channels, and the connection it is kept up by.
final class Subscription: @unchecked Sendable {
    // Unchecked: the constants are Sendable, the rest is the engine thread's.
    let channels: [String]
    let continuation: AsyncStream<PostgresListener.Event>.Continuation
    var connection: Connection?
    var hasMissed = false
    var nextKeepalive: Int64 = 0

    init(channels: [String], continuation: AsyncStream<PostgresListener.Event>.Continuation) {
        self.channels = channels
        self.continuation = continuation
    }

    /// Hands over an event; what a slow reader has no room for is dropped, and it is told so when it has.
    func deliver(_ event: PostgresListener.Event) {
        if hasMissed {
            guard case .enqueued = continuation.yield(.reconnected) else { return }
            hasMissed = false
        }
        if case .dropped = continuation.yield(event) { hasMissed = true }
    }

    /// Tells a reader that it has missed something, if it has room by now.
    func catchUp() {
        guard hasMissed, case .enqueued = continuation.yield(.reconnected) else { return }
        hasMissed = false
    }

    func finish() {
        continuation.finish()
    }
}

extension Engine {
    /// Listens on channels until the stream is dropped.
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
                    self.logger.error("postgres refuses to listen", metadata: ["reason": "\(error)"])
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

    /// Asks a listening connection now and then whether it lives: nothing else would tell that its peer is gone.
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
