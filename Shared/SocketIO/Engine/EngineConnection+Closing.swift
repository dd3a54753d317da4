import NIOCore

/// Closing a connection.
extension EngineConnection {
    /// How the client is notified.
    enum ClosingStyle {
        /// With the transport's closing message, after everything sent before.
        case graceful
        /// With the confirmation of the client's own request to close.
        case requestedByClient
        /// Without a message: the client has disconnected or does not read.
        case abrupt
    }

    /// How long a closed polling client has to fetch the closing packet.
    private static let leaving = TimeAmount.seconds(30)
    /// A poll may be in flight when the client sends its closing packet.
    private static let pollGracePeriod = TimeAmount.seconds(2)

    func closeNow(_ reason: DisconnectReason, _ style: ClosingStyle = .graceful) {
        guard isOpen else { return }
        loop.exclusively { finish(reason, style) }
    }

    private func finish(_ reason: DisconnectReason, _ style: ClosingStyle) {
        for socket in client?.sockets ?? [] { loop.catchUp(socket) }
        let wasStreaming = isStreaming
        stage = .closed
        if wasStreaming {
            closeStream(style)
        } else {
            closePolling(reason, style)
        }
        if case .closed = stage { forget() } else { loop.wheel.watch(self) }
        handler.closed(self, reason: reason)
        client = nil
        head = nil
    }

    private func closeStream(_ style: ClosingStyle) {
        switch style {
        case .abrupt: webSocket?.abort()
        case .graceful, .requestedByClient: webSocket?.finish(outbox.drain())
        }
        webSocket = nil
        outbox = Outbox()
    }

    private func closePolling(_ reason: DisconnectReason, _ style: ClosingStyle) {
        endProbe()
        let isFault = reason == .parseError || reason == .transportError || reason == .forcedServerClose
        polling?.post?.exchange.respond(isFault ? .error(.badRequest) : .ok)
        polling?.post = nil
        let last = PollingPacket.text(ByteBuffer(string: style == .requestedByClient ? "6" : "1"))
        if let poll = polling?.dequeuePoll() {
            polling?.append(last)
            respondLast(poll)
        } else if style == .requestedByClient {
            stage = .leaving(last, until: loop.eventLoop.now + Self.pollGracePeriod)
        } else if reason == .serverNamespaceDisconnect || reason == .forcedClose {
            stage = .leaving(last, until: loop.eventLoop.now + Self.leaving)
        }
    }

    /// Removes the connection, so that its id becomes unknown.
    func forget() {
        stage = .closed
        polling = nil
        core.remove(self)
    }
}
