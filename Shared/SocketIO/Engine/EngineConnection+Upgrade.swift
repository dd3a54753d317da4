import NIOCore

/// The upgrade from polling to a WebSocket: the client sends `2probe`, receives `3probe`, and its poll ends with a noop
/// (`6`); then the client sends `5`.
extension EngineConnection {
    private static let noopInterval = TimeAmount.milliseconds(100)

    /// Accepts a WebSocket as the candidate for an upgrade.
    ///
    /// - Returns: False if the connection does not poll, already has a candidate, or upgrades are disabled.
    func beginProbe(_ webSocket: WebSocketHandler) -> Bool {
        guard case .polling = stage, polling?.probe == nil, core.configuration.allowsUpgrades else { return false }
        let now = loop.eventLoop.now
        polling?.probe = PollingTransport.Probe(
            webSocket: webSocket,
            deadline: now + TimeAmount(core.configuration.upgradeTimeout),
            noopAt: now
        )
        loop.wheel.watch(self)
        return true
    }

    func receiveProbe(_ message: EngineMessage, from webSocket: WebSocketHandler) {
        guard webSocket === polling?.probe?.webSocket else { return webSocket.finish() }
        switch message {
        case .text(let text) where text == ByteBuffer(string: "2probe"):
            polling?.probe?.isConfirmed = true
            webSocket.write(.frame(.text, ByteBuffer(string: "3probe")))
            respondNoop(loop.eventLoop.now)
        case .text(let text) where text == ByteBuffer(string: "5"):
            upgrade(to: webSocket)
        default:
            endProbe()
        }
    }

    /// Answers a waiting poll with a noop, so that the client can continue the upgrade.
    func respondNoop(_ now: NIODeadline) {
        guard case .polling = stage, let probe = polling?.probe, probe.isConfirmed, polling?.poll != nil else { return }
        if now >= probe.noopAt {
            let noop = PollingPacket.text(ByteBuffer(string: "6"))
            polling?.dequeuePoll()?.respond(.packets([noop], revision: revision, acceptsBinary: false))
            polling?.probe?.noopAt = now + Self.noopInterval
        } else {
            loop.wheel.watch(self)
        }
    }

    /// Cancels the upgrade; the connection continues to poll.
    func endProbe() {
        polling?.probe?.webSocket.finish()
        polling?.probe = nil
    }

    private func upgrade(to webSocket: WebSocketHandler) {
        guard var polling else { return }
        let noop = PollingPacket.text(ByteBuffer(string: "6"))
        polling.dequeuePoll()?.respond(.packets([noop], revision: revision, acceptsBinary: false))
        polling.post?.exchange.respond(.ok)
        stage = .streaming
        self.webSocket = webSocket
        self.polling = nil
        for packet in polling.queue {
            switch packet {
            case .text(let text): sendNow(OutgoingPacket(text: text))
            case .binary(let bytes): sendNow(OutgoingPacket(.binary(bytes)))
            }
        }
        for socket in client?.sockets ?? [] { loop.moveToStreaming(socket) }
        if holds > 0 { webSocket.setPaused(true) }
    }
}
