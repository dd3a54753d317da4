import NIOCore
import SocketIO

/// The event handlers of the echo server.
enum Echo {
    private enum Auth: SocketDataKey { typealias Value = ByteBuffer }

    static func use(_ namespace: Namespace) {
        namespace.onConnect { socket, handshake in
            socket[Auth.self] = handshake.auth
            return .accept
        }
        namespace.onConnected { socket in
            // Conformance suites wait for one message at a time and miss the second of two that arrive together.
            socket.eventLoop.scheduleTask(in: .milliseconds(10)) {
                socket.emit("auth", SocketArguments(json: socket[Auth.self] ?? ByteBuffer()))
                socket[Auth.self] = nil
            }
        }
        namespace.on("message") { socket, event in
            socket.emit("message-back", event.arguments)
        }
        namespace.on("message-with-ack") { _, event in
            event.acknowledgement?(event.arguments)
        }
        namespace.on("join") { socket, event in
            if let room = event.arguments[0] { socket.join(SocketRoom(String(buffer: room))) }
            event.acknowledgement?()
        }
        namespace.on("publish") { _, event in
            guard let room = event.arguments[0] else { return }
            // The arguments after the room and its comma.
            var rest = event.arguments.json
            rest.moveReaderIndex(forwardBy: min(rest.readableBytes, room.readableBytes + 1))
            namespace.to(SocketRoom(String(buffer: room))).emit("published", SocketArguments(json: rest))
            event.acknowledgement?()
        }
    }
}

/// Returns each Engine.IO message to its sender.
struct EngineEcho: EngineHandler {
    func opened(_ connection: EngineConnection) {}

    func received(_ message: EngineMessage, from connection: EngineConnection) {
        connection.send(message)
    }

    func closed(_ connection: EngineConnection, reason: DisconnectReason) {}
}
