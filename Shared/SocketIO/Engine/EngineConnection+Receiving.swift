import NIOCore

/// Packets from the client, over either transport.
extension EngineConnection {
    func receive(_ packet: PollingPacket) {
        switch packet {
        case .text(let text): receive(text: text)
        case .binary(let bytes): deliver(.binary(bytes))
        }
    }

    private func deliver(_ message: EngineMessage) {
        loop.exclusively { handler.received(message, from: self) }
    }

    func receive(text: ByteBuffer) {
        var text = text
        guard let type: UInt8 = text.readInteger() else { return closeNow(.parseError) }
        switch type {
        case UInt8(ascii: "4"): deliver(.text(text))
        case UInt8(ascii: "2"): receivePing()
        case UInt8(ascii: "3"): receivePong()
        case UInt8(ascii: "1"): closeNow(.transportClose, .requestedByClient)
        // The Swift client posts a noop during the upgrade.
        case UInt8(ascii: "5"), UInt8(ascii: "6"): break
        case UInt8(ascii: "b"): receive(base64: text)
        default: closeNow(.parseError)
        }
    }

    private func receivePing() {
        guard revision == .three else { return closeNow(.transportError) }
        beat()
        sendNow(OutgoingPacket("3"))
    }

    private func receivePong() {
        guard revision == .four else { return closeNow(.transportError) }
        beat()
    }

    private func beat() {
        heartbeat.beat(loop.eventLoop.now, revision, core.configuration)
        // The next ping may be due before the pong's deadline.
        loop.wheel.watch(self)
    }

    private func receive(base64: ByteBuffer) {
        var text = base64
        if revision == .three, text.readInteger() != UInt8(ascii: "4") { return closeNow(.parseError) }
        guard let bytes = Base64.decode(text) else { return closeNow(.parseError) }
        deliver(.binary(bytes))
    }

    /// Handles a message from the connection's WebSocket, or from one that probes for an upgrade.
    func receive(_ message: WebSocketMessage, from webSocket: WebSocketHandler) {
        guard webSocket === self.webSocket else { return receiveProbe(message.content, from: webSocket) }
        lease = message.lease
        defer { lease = nil }
        switch message.content {
        case .text(let text):
            receive(text: text)
        case .binary(var bytes):
            if revision == .three, bytes.readInteger() != UInt8(4) { return closeNow(.parseError) }
            deliver(.binary(bytes))
        }
    }

    /// Handles a WebSocket that was closed, or whose client violated the protocol.
    func lost(_ webSocket: WebSocketHandler, _ reason: DisconnectReason) {
        if webSocket === self.webSocket {
            // The WebSocket closes itself.
            self.webSocket = nil
            closeNow(reason, .abrupt)
        } else if webSocket === polling?.probe?.webSocket {
            polling?.probe = nil
        }
    }
}
