import NIOCore
import NIOHTTP1

/// The Socket.IO state of a connection: its namespaces and the packet being received.
///
/// Used only on the connection's event loop.
final class Client {
    private unowned let connection: EngineConnection
    private let server: NamespaceTable
    private(set) var sockets: [Socket] = []
    /// The namespaces whose connect decision is pending.
    private var pending: Set<String> = []
    private var refusals = 0
    /// A packet whose attachments are incomplete.
    private var partial: AssembledPacket?

    /// A packet with its attachments.
    private struct AssembledPacket {
        let packet: IncomingPacket
        var attachments: [ByteBuffer] = []
        var leases: [PayloadLease] = []
    }

    init(connection: EngineConnection, server: NamespaceTable) {
        self.connection = connection
        self.server = server
    }

    // MARK: Packets

    func received(text: ByteBuffer) {
        guard partial == nil, let packet = try? IncomingPacket(text, limits: connection.core.configuration.limits)
        else { return connection.closeNow(.parseError) }
        var assembled = AssembledPacket(packet: packet)
        if let lease = connection.lease { assembled.leases.append(lease) }
        if packet.attachments > 0 {
            partial = assembled
        } else {
            handle(assembled)
        }
    }

    func received(binary: ByteBuffer) {
        partial?.attachments.append(binary)
        if let lease = connection.lease { partial?.leases.append(lease) }
        guard let assembled = partial else { return connection.closeNow(.parseError) }
        if assembled.attachments.count == assembled.packet.attachments {
            partial = nil
            handle(assembled)
        }
    }

    private func handle(_ assembled: AssembledPacket) {
        let (packet, attachments) = (assembled.packet, assembled.attachments)
        let name = packet.namespace ?? "/"
        if case .connect(let auth) = packet.content {
            return connect(name, auth: auth, query: packet.query)
        }
        guard let socket = sockets.first(where: { $0.namespace.name == name }) else {
            // A client of revision 3 sends a disconnect for a namespace that refused it.
            if connection.revision == .three, case .disconnect = packet.content { return }
            return connection.closeNow(.forcedServerClose)
        }
        switch packet.content {
        case .connect:
            break
        case .disconnect:
            leave(socket, .clientNamespaceDisconnect)
        case .event(let event, let arguments):
            let arguments = SocketArguments(json: arguments, attachments: attachments)
            socket.received(event, arguments, assembled.leases, id: packet.id)
        case .acknowledgement(let arguments):
            guard let id = packet.id else { return }
            socket.received(acknowledgement: SocketArguments(json: arguments, attachments: attachments), to: id)
        }
    }

    // MARK: Namespaces

    func connect(_ name: String, auth: ByteBuffer?, query: String?) {
        guard !pending.contains(name), !sockets.contains(where: { $0.namespace.name == name }) else {
            // Socket.IO 2 clients request `/` although they are connected to it.
            if connection.revision == .three, name == "/" { return }
            return connection.closeNow(.forcedServerClose)
        }
        guard let namespace = server[name] else { return refuse(name, ConnectRefusal("Invalid namespace")) }
        guard sockets.count + pending.count < connection.core.configuration.limits.namespaces else {
            return refuse(name, ConnectRefusal("Too many namespaces"))
        }
        let socket = Socket(id: RandomID.make(), namespace: namespace, connection: connection)
        let handshake = handshake(auth: auth, query: query)
        pending.insert(name)
        let decision = connection.loop.exclusively { namespace.handlers.connect?(socket, handshake) }
        decide(socket, handshake, decision ?? .accept)
    }

    private func handshake(auth: ByteBuffer?, query: String?) -> SocketHandshake {
        let text = query ?? connection.head.map { $0.uri.drop { $0 != "?" }.dropFirst() }.map(String.init)
        return SocketHandshake(
            head: connection.head,
            remoteAddress: connection.remoteAddress,
            auth: auth ?? ByteBuffer(string: "{}"),
            query: SocketQuery(text.map { $0[...] } ?? ""),
            revision: connection.revision
        )
    }

    private func decide(_ socket: Socket, _ handshake: SocketHandshake, _ decision: ConnectDecision) {
        switch decision {
        case .accept:
            accept(socket)
        case .refuse(let refusal):
            pending.remove(socket.namespace.name)
            refuse(socket.namespace.name, refusal)
        case .later(let decide):
            let connection = connection
            Task {
                let decision = await decide()
                connection.loop.perform {
                    // The client may have disconnected meanwhile.
                    guard connection.isOpen, let client = connection.client else { return }
                    client.decide(socket, handshake, decision)
                }
            }
        }
    }

    private func accept(_ socket: Socket) {
        pending.remove(socket.namespace.name)
        // The application's callback may have disconnected the socket.
        guard connection.isOpen, !socket.isEnded else { return }
        connection.connectBy = nil
        if connection.core.configuration.handshakeRetention == .untilConnected { connection.head = nil }
        sockets.append(socket)
        socket.connected()
        connection.sendNow(Self.connectPacket(socket))
        connection.loop.exclusively { socket.handlers.connected?(socket) }
    }

    private static func connectPacket(_ socket: Socket) -> OutgoingPacket {
        var text = ByteBuffer(string: "40")
        if socket.namespace.name != "/" { text.writeString("\(socket.namespace.name),") }
        if socket.connection.revision == .four { text.writeString(#"{"sid":"\#(socket.id)"}"#) }
        return OutgoingPacket(text: text)
    }

    private func refuse(_ name: String, _ refusal: ConnectRefusal) {
        var text = ByteBuffer(string: "44")
        if name != "/" { text.writeString("\(name),") }
        if connection.revision == .four {
            text.writeStaticString(#"{"message":"#)
            JSONStringCoder.write(refusal.message, into: &text)
            if let data = refusal.data {
                text.writeStaticString(#","data":"#)
                text.writeImmutableBuffer(data)
            }
            text.writeStaticString("}")
        } else if let data = refusal.data {
            text.writeImmutableBuffer(data)
        } else {
            JSONStringCoder.write(refusal.message, into: &text)
        }
        connection.sendNow(OutgoingPacket(text: text))
        refusals += 1
        // Each attempt may cost the verification of a credential, and no rate limit on requests counts it.
        if refusals >= connection.core.configuration.limits.refusals { connection.closeNow(.forcedServerClose) }
    }

    /// Disconnects a socket from its namespace.
    func leave(_ socket: Socket, _ reason: DisconnectReason) {
        guard let index = sockets.firstIndex(where: { $0 === socket }) else { return }
        // The socket leaves its rooms first, which flushes the events already sent to them.
        connection.loop.exitAll(socket)
        sockets.remove(at: index)
        socket.disconnected(reason)
    }

    func closed(_ reason: DisconnectReason) {
        partial = nil
        pending = []
        while let socket = sockets.last { leave(socket, reason) }
    }
}
