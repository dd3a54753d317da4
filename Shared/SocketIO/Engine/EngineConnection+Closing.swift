import NIOCore

/// The end of a connection.
extension EngineConnection {
    /// How the client is told.
    enum ClosingStyle {
        /// By what its transport has for it, behind all that was said before.
        case graceful
        /// Its own wish is confirmed.
        case requestedByClient
        /// Not at all: it is gone, or does not read.
        case abrupt
    }

    /// How long a client that polls may take to fetch that it is closed.
    private static let leaving = TimeAmount.seconds(30)
    /// A poll may be on its way when the client says that it closes.
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
        case .graceful, .requestedByClient: webSocket?.finish(outbox.take())
        }
        webSocket = nil
        outbox = Outbox()
    }

    private func closePolling(_ reason: DisconnectReason, _ style: ClosingStyle) {
        endProbe()
        let isFault = reason == .parseError || reason == .transportError || reason == .forcedServerClose
        polling?.post?.exchange.answer(isFault ? .error(.badRequest) : .ok)
        polling?.post = nil
        let last = PollingPacket.text(ByteBuffer(string: style == .requestedByClient ? "6" : "1"))
        if let poll = polling?.takePoll() {
            polling?.append(last)
            respondLast(poll)
        } else if style == .requestedByClient {
            stage = .leaving(last, until: loop.eventLoop.now + Self.pollGracePeriod)
        } else if reason == .serverNamespaceDisconnect || reason == .forcedClose {
            stage = .leaving(last, until: loop.eventLoop.now + Self.leaving)
        }
    }

    /// Nobody will find it any more.
    func forget() {
        stage = .closed
        polling = nil
        core.remove(self)
    }
}
