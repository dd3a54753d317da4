public import NIOCore
public import NIOHTTP1

/// How a ``SocketIOServer`` or an ``EngineServer`` behaves; the defaults are those of socket.io 4.
public struct SocketIOConfiguration: Sendable {
    /// Where the server is reached; begins and ends with a slash.
    public var path: String
    /// How long after the opening, or after the last pong, the next ping is sent (revision 4) or awaited (revision 3).
    public var pingInterval: Duration
    /// How long the answer to a ping may take before the connection is given up.
    public var pingTimeout: Duration
    /// How long a connection may be without any namespace.
    public var connectTimeout: Duration
    /// How long a client may take from opening the WebSocket of an upgrade until it says that it changes over.
    public var upgradeTimeout: Duration
    /// How many bytes one message, or the body of one POST, may have: more is 413, or WebSocket's close code 1009.
    ///
    /// ``EngineConnection/setMaxPayload(_:)`` changes it for one connection, as after a sign-in. Clients are told
    /// ``announcedMaxPayload``.
    public var maxPayload: Int
    /// What the open packet says `maxPayload` is; nil says what it is at the opening.
    ///
    /// Clients gather packets into one POST up to this.
    public var announcedMaxPayload: Int?
    /// Which revisions of Engine.IO are spoken: 3 is that of socket.io-client 1 and 2, 4 that of 3 and 4.
    public var revisions: Set<EngineRevision>
    /// Whether long polling is offered.
    public var allowsPolling: Bool
    /// Whether a client that polls is offered to change to a WebSocket.
    public var allowsUpgrades: Bool
    /// Which pages of browsers may connect.
    public var origins: AllowedOrigins
    /// Whether answers say `Access-Control-Allow-Credentials: true`.
    public var allowsCredentials: Bool
    public var limits: SocketIOLimits
    /// What the id of the session that a request opens begins with, for a proxy that routes by it; of base64url's
    /// characters.
    public var sessionTag: @Sendable (HTTPRequestHead) -> String
    /// Whether a session may be opened by this request, asked on the event loop; otherwise the answer is 403.
    public var allowRequest: @Sendable (HTTPRequestHead, SocketAddress?) -> Bool
    /// What a connection counts by until ``EngineConnection/admit()``, such as the client's address; nil: by nothing.
    ///
    /// Called on the event loop, once for each connection.
    public var unjoinedKey: @Sendable (HTTPRequestHead, SocketAddress?) -> String?
    /// How long the head of the opening request is kept for ``SocketHandshake``.
    public var handshakeRetention: HandshakeRetention

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

/// A revision of the Engine.IO protocol, and with it of Socket.IO: 3 carries 4, 4 carries 5.
public enum EngineRevision: Int, Hashable, Sendable {
    case three = 3
    case four = 4
}

/// Which pages of browsers may connect; whoever sends no `Origin` is no browser, and may.
public enum AllowedOrigins: Hashable, Sendable {
    /// Those of the host that the request names.
    case same
    /// All; answers say so to browsers (CORS).
    case any
    /// Those listed, such as `https://example.org`; answers say so to browsers.
    case only(Set<String>)
}

/// How long the head of the request that opened a connection is kept.
public enum HandshakeRetention: Hashable, Sendable {
    /// Until the first namespace is connected, so that an idle socket does not pay for its headers.
    case untilConnected
    /// As long as the connection, for namespaces connected later.
    case always
}

/// What one client, or all of them, may take of the server.
public struct SocketIOLimits: Hashable, Sendable {
    /// How many connections there may be; more are answered 503.
    public var connections = 100_000
    /// How many connections with the same ``SocketIOConfiguration/unjoinedKey`` may wait to be admitted; more are
    /// answered 429.
    public var unjoinedPerKey = 256
    /// How many bytes may wait for a client to read them; one that has more waiting is cut off.
    public var bufferedBytes = 1 << 20
    /// How many bytes the messages of more than 64 kB of all clients may take together, from their first byte until
    /// they are handled; one that finds no room is refused with 503, or WebSocket's close code 1013.
    public var payloadBytes = 256 << 20
    /// How many attachments one packet may have.
    public var attachments = 10
    /// How deep arrays and objects may be nested in a packet.
    public var depth = 64
    /// How many values of all kinds the JSON of one packet may have.
    public var values = 10_000
    /// How many packets the body of one POST may have.
    public var packets = 5_000
    /// How many namespaces one connection may be in.
    public var namespaces = 16
    /// How many times one connection may be refused a namespace before it is closed.
    public var refusals = 16
    /// How many calls of ``Socket/perform(_:)`` may wait; when more do, nothing is read from the client.
    public var queuedCalls = 32
    /// How many acknowledgements of the client may be awaited at once.
    public var acknowledgements = 1_000
    /// How long a request's head and body may take to come in.
    public var requestTimeout: Duration = .seconds(15)
    /// How long a connection may stay open between two requests.
    public var idleTimeout: Duration = .seconds(75)

    public init() {}
}
