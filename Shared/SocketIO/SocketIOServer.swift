public import NIOCore

/// A Socket.IO server with namespaces, over long polling and WebSockets.
///
/// ```swift
/// let server = SocketIOServer()
/// let chat = server.namespace("/")
/// chat.onConnect { socket, handshake in
///     handshake.query["token"] == secret ? .accept : .refuse("invalid token")
/// }
/// chat.on("say") { socket, event in
///     socket.join("lobby")
///     chat.to("lobby").except(socket).emit("said", event.arguments)
///     event.acknowledgement?()
/// }
/// ```
///
/// Add a ``SocketIOGate`` to the pipelines of an HTTP server, or start a ``SocketIOListener``.
public final class SocketIOServer: Sendable {
    /// The settings that the server was created with.
    public let configuration: SocketIOConfiguration
    let core: EngineCore
    let handler: ClientHandler
    private let namespaces: NamespaceTable

    /// Creates a server; it accepts no connections until a gate or a listener uses it.
    public init(configuration: SocketIOConfiguration = SocketIOConfiguration()) {
        self.configuration = configuration
        core = EngineCore(configuration: configuration)
        namespaces = NamespaceTable(core: core)
        handler = ClientHandler(namespaces: namespaces)
    }

    /// Returns the namespace with this name, creating it if needed.
    ///
    /// Clients connect to `/` by default.
    public func namespace(_ name: String) -> Namespace {
        namespaces.make(name)
    }

    /// The number of open connections, with or without a namespace.
    public var connectionCount: Int { core.connectionCount }

    /// Refuses new connections and closes the existing ones, so that clients reconnect, for example to another server.
    public func close() async {
        await core.close()
    }
}

/// An Engine.IO server: messages over long polling and WebSockets, without namespaces and events.
///
/// The usual ``SocketIOConfiguration/path`` is `/engine.io/`.
public final class EngineServer: Sendable {
    /// The settings that the server was created with.
    public let configuration: SocketIOConfiguration
    let core: EngineCore
    let handler: any EngineHandler

    /// Creates a server; it accepts no connections until a gate or a listener uses it.
    public init(configuration: SocketIOConfiguration, handler: any EngineHandler) {
        self.configuration = configuration
        core = EngineCore(configuration: configuration)
        self.handler = handler
    }

    /// The number of open connections.
    public var connectionCount: Int { core.connectionCount }

    /// Refuses new connections and closes the existing ones.
    public func close() async {
        await core.close()
    }
}

/// The message handler of an ``EngineServer``; its methods run on the connection's event loop and must not block.
public protocol EngineHandler: Sendable {
    /// Handles a new connection.
    func opened(_ connection: EngineConnection)
    /// Handles a message from the client.
    func received(_ message: EngineMessage, from connection: EngineConnection)
    /// Handles the end of a connection; called once.
    func closed(_ connection: EngineConnection, reason: DisconnectReason)
}

/// An Engine.IO message.
public enum EngineMessage: Hashable, Sendable {
    /// Well-formed UTF-8 text.
    case text(ByteBuffer)
    /// Arbitrary bytes.
    case binary(ByteBuffer)
}
