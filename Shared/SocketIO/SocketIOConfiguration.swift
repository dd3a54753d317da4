public import NIOCore
public import NIOHTTP1

/// The settings of a ``SocketIOServer`` or an ``EngineServer``; the defaults are those of socket.io 4.
public struct SocketIOConfiguration: Sendable {
    /// The path of the server's requests; it begins and ends with a slash.
    public var path: String
    /// The interval between pings, measured from the opening or the last pong.
    ///
    /// The server sends them in revision 4, the client in revision 3.
    public var pingInterval: Duration
    /// How long a pong, or in revision 3 a ping, may be late before the connection is closed.
    public var pingTimeout: Duration
    /// How long a connection may stay open without a namespace.
    public var connectTimeout: Duration
    /// How long an upgrade may take, from opening the WebSocket to the switch.
    public var upgradeTimeout: Duration
    /// The largest message or POST body in bytes; a larger one receives status 413 or WebSocket close code 1009.
    ///
    /// ``EngineConnection/setMaxPayload(_:)`` changes the limit of one connection, for example after a sign-in. Clients
    /// receive ``announcedMaxPayload``.
    public var maxPayload: Int
    /// The `maxPayload` value of the opening packet; nil sends the connection's limit at that time.
    ///
    /// Clients combine packets into POST bodies of up to this size.
    public var announcedMaxPayload: Int?
    /// The supported Engine.IO revisions: socket.io-client 1 and 2 use 3, versions 3 and 4 use 4.
    public var revisions: Set<EngineRevision>
    /// Whether clients may use long polling.
    public var allowsPolling: Bool
    /// Whether polling clients may upgrade to a WebSocket.
    public var allowsUpgrades: Bool
    /// The origins from which browser pages may connect.
    public var origins: AllowedOrigins
    /// Whether responses contain `Access-Control-Allow-Credentials: true`.
    public var allowsCredentials: Bool
    /// The limits on resources.
    public var limits: SocketIOLimits
    /// Returns a prefix for the id of the session that the request opens, for a proxy that routes by it.
    ///
    /// The prefix consists of base64url characters.
    public var sessionTag: @Sendable (HTTPRequestHead) -> String
    /// Returns whether the request may open a session; if not, the response is 403.
    ///
    /// Called on the event loop.
    public var allowRequest: @Sendable (HTTPRequestHead, SocketAddress?) -> Bool
    /// Returns the key that counts a connection until ``EngineConnection/admit()``, such as the client's address; nil
    /// does not count it.
    ///
    /// Called on the event loop, once per connection. The limit is ``SocketIOLimits/unjoinedPerKey``.
    public var unjoinedKey: @Sendable (HTTPRequestHead, SocketAddress?) -> String?
    /// How long the head of the opening request is kept for ``SocketHandshake``.
    public var handshakeRetention: HandshakeRetention

    /// Creates a configuration; all other properties have socket.io's defaults.
    public init(
        path: String = "/socket.io/",
        pingInterval: Duration = .seconds(25),
        pingTimeout: Duration = .seconds(20),
        connectTimeout: Duration = .seconds(45),
        upgradeTimeout: Duration = .seconds(10),
        maxPayload: Int = 1_000_000
    ) {
        self.path = path
        self.pingInterval = pingInterval
        self.pingTimeout = pingTimeout
        self.connectTimeout = connectTimeout
        self.upgradeTimeout = upgradeTimeout
        self.maxPayload = maxPayload
        announcedMaxPayload = nil
        revisions = [.three, .four]
        allowsPolling = true
        allowsUpgrades = true
        origins = .same
        allowsCredentials = false
        limits = SocketIOLimits()
        sessionTag = { _ in "" }
        allowRequest = { _, _ in true }
        unjoinedKey = { _, _ in nil }
        handshakeRetention = .untilConnected
    }
}

/// A revision of the Engine.IO protocol.
public enum EngineRevision: Int, Hashable, Sendable {
    /// Engine.IO 3, which carries Socket.IO 4; used by clients 1 and 2.
    case three = 3
    /// Engine.IO 4, which carries Socket.IO 5; used by clients 3 and 4.
    case four = 4
}

/// The origins from which browser pages may connect.
///
/// Requests without an `Origin` field are not from a browser, and pass.
public enum AllowedOrigins: Hashable, Sendable {
    /// The host of the request only.
    case same
    /// All origins; responses have CORS fields.
    case any
    /// The listed origins, such as `https://example.org`; responses have CORS fields.
    case only(Set<String>)
}

/// How long the head of an opening request is kept.
public enum HandshakeRetention: Hashable, Sendable {
    /// Until the client connects to the first namespace, which saves the memory of the headers.
    case untilConnected
    /// As long as the connection, for namespaces connected later.
    case always
}

/// Limits on the resources of one client or of all clients.
public struct SocketIOLimits: Hashable, Sendable {
    /// The number of open connections; further ones receive status 503.
    public var connections = 100_000
    /// The number of connections with the same ``SocketIOConfiguration/unjoinedKey`` that are not admitted; further
    /// ones receive status 429.
    public var unjoinedPerKey = 256
    /// The bytes buffered for a client that does not read; beyond them the connection is closed.
    public var bufferedBytes = 1 << 20
    /// The total bytes of all clients' messages above 64 KiB, from the first byte until they are handled.
    ///
    /// A message beyond the limit receives status 503 or WebSocket close code 1013.
    public var payloadBytes = 256 << 20
    /// The attachments of a packet.
    public var attachments = 10
    /// The nesting depth of arrays and objects in a packet.
    public var depth = 64
    /// The JSON values in a packet, including nested ones.
    public var values = 10_000
    /// The packets in a POST body.
    public var packets = 5_000
    /// The namespaces of a connection.
    public var namespaces = 16
    /// The refused namespace requests after which a connection is closed.
    public var refusals = 16
    /// The queued calls of ``Socket/perform(_:)``; beyond them the server stops reading from the client.
    public var queuedCalls = 32
    /// The pending acknowledgements of a socket.
    public var acknowledgements = 1_000
    /// The time to receive a request's head and body.
    public var requestTimeout: Duration = .seconds(15)
    /// The time that a connection may be idle between two requests.
    public var idleTimeout: Duration = .seconds(75)

    /// Creates the default limits.
    public init() {}
}
