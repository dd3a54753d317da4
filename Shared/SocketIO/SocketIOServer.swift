public import NIOCore

/// A Socket.IO server: namespaces that clients connect to, over long polling and WebSockets.
///
/// ```swift
/// let server = SocketIOServer()
/// let chat = server.namespace("/")
/// chat.onConnect { socket, handshake in
///     handshake.query["token"] == secret ? .accept : .refuse("who are you?")
/// }
/// chat.on("say") { socket, event in
///     socket.join("lobby")
///     chat.to("lobby").except(socket).emit("said", event.arguments)
///     event.acknowledgement?()
/// }
/// ```
///
/// It has no listener of its own: a ``SocketIOGate`` of the server is put into the pipelines of an HTTP server, or
/// ``SocketIOListener`` makes one.
public final class SocketIOServer: Sendable {
    public let configuration: SocketIOConfiguration
    let core: EngineCore
    let handler: ClientHandler
    private let namespaces: NamespaceTable

    public init(configuration: SocketIOConfiguration = SocketIOConfiguration()) {
        self.configuration = configuration
        core = EngineCore(configuration: configuration)
        namespaces = NamespaceTable(core: core)
        handler = ClientHandler(namespaces: namespaces)
    }

    /// The namespace of that name, which clients may connect to from now on; `/` is the one they connect to unasked.
    public func namespace(_ name: String) -> Namespace {
        namespaces.make(name)
    }

    /// How many connections are open, in namespaces or not.
    public var connectionCount: Int { core.connectionCount }

    /// Takes no more connections and closes those there are, so that clients look for another server.
    public func close() async {
        await core.close()
    }
}

/// An Engine.IO server alone: messages over long polling and WebSockets, without namespaces and events.
///
/// Its ``SocketIOConfiguration/path`` is commonly `/engine.io/`.
public final class EngineServer: Sendable {
    public let configuration: SocketIOConfiguration
    let core: EngineCore
    let handler: any EngineHandler

    public init(configuration: SocketIOConfiguration, handler: any EngineHandler) {
        self.configuration = configuration
        core = EngineCore(configuration: configuration)
        self.handler = handler
    }

    /// How many connections are open.
    public var connectionCount: Int { core.connectionCount }

    /// Takes no more connections and closes those there are.
    public func close() async {
        await core.close()
    }
}

/// What is to be done with the messages of an ``EngineServer``; called on a connection's event loop.
public protocol EngineHandler: Sendable {
    func opened(_ connection: EngineConnection)
    func received(_ message: EngineMessage, from connection: EngineConnection)
    func closed(_ connection: EngineConnection, reason: DisconnectReason)
}

/// One message of Engine.IO.
public enum EngineMessage: Hashable, Sendable {
    /// Well-formed UTF-8.
    case text(ByteBuffer)
    case binary(ByteBuffer)
}
