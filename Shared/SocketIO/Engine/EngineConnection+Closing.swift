import NIOCore

/// The end of a connection.
extension EngineConnection {
    /// How the client is told.
    enum Farewell {
        /// By what its transport has for it, behind all that was said before.
        case politely
        /// Its own wish is confirmed.
        case asAsked
        /// Not at all: it is gone, or does not read.
        case abruptly
    }

    /// How long a client that polls may take to fetch that it is closed.
    private static let leaving = TimeAmount.seconds(30)
    /// A poll may be on its way when the client says that it closes.
    private static let crossing = TimeAmount.seconds(2)

    func closeNow(_ reason: DisconnectReason, _ farewell: Farewell = .politely) {
        guard isOpen else { return }
        loop.exclusively { finish(reason, farewell) }
    }

    private func finish(_ reason: DisconnectReason, _ farewell: Farewell) {
        for socket in client?.sockets ?? [] { loop.catchUp(socket) }
        let wasStreaming = isStreaming
        stage = .closed
        if wasStreaming {
            closeStream(farewell)
        } else {
            closePolling(reason, farewell)
        }
        if case .closed = stage { forget() } else { loop.wheel.watch(self) }
        handler.closed(self, reason: reason)
        client = nil
        head = nil
    }

    private func closeStream(_ farewell: Farewell) {
        switch farewell {
        case .abruptly: webSocket?.abort()
        case .politely, .asAsked: webSocket?.finish(outbox.take())
        }
        webSocket = nil
        outbox = Outbox()
    }

    private func closePolling(_ reason: DisconnectReason, _ farewell: Farewell) {
        endProbe()
        let isFault = reason == .parseError || reason == .transportError || reason == .forcedServerClose
        polling?.post?.exchange.answer(isFault ? .error(.badRequest) : .ok)
        polling?.post = nil
        let last = PollingPacket.text(ByteBuffer(string: farewell == .asAsked ? "6" : "1"))
        if let poll = polling?.takePoll() {
            polling?.append(last)
            answerLast(poll)
        } else if farewell == .asAsked {
            stage = .leaving(last, until: loop.eventLoop.now + Self.crossing)
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
