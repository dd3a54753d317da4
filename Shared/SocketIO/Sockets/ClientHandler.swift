import NIOCore

/// The Socket.IO handler of Engine.IO messages.
final class ClientHandler: EngineHandler {
    private let namespaces: NamespaceTable

    init(namespaces: NamespaceTable) {
        self.namespaces = namespaces
    }

    func opened(_ connection: EngineConnection) {
        let client = Client(connection: connection, server: namespaces)
        connection.client = client
        connection.connectBy = connection.eventLoop.now + TimeAmount(connection.core.configuration.connectTimeout)
        connection.loop.wheel.watch(connection)
        // Clients of revision 3 are in `/` without a request.
        if connection.revision == .three { client.connect("/", auth: nil, query: nil) }
    }

    func received(_ message: EngineMessage, from connection: EngineConnection) {
        switch message {
        case .text(let text): connection.client?.received(text: text)
        case .binary(let bytes): connection.client?.received(binary: bytes)
        }
    }

    func closed(_ connection: EngineConnection, reason: DisconnectReason) {
        connection.client?.closed(reason)
    }
}
