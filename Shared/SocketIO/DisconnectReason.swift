/// Why a socket is no longer connected; the texts are those of socket.io.
public enum DisconnectReason: String, Hashable, Sendable, CustomStringConvertible {
    /// The client left the namespace.
    case clientNamespaceDisconnect = "client namespace disconnect"
    /// ``Socket/disconnect(close:)`` was called.
    case serverNamespaceDisconnect = "server namespace disconnect"
    /// The server stops.
    case serverShuttingDown = "server shutting down"
    /// The client did what the protocol forbids, or took too long to connect.
    case forcedServerClose = "forced server close"
    /// No heartbeat came in time.
    case pingTimeout = "ping timeout"
    /// The client closed, or was lost.
    case transportClose = "transport close"
    /// The client used the transport wrongly, or did not read what was sent to it.
    case transportError = "transport error"
    /// What the client sent was no packet.
    case parseError = "parse error"
    /// ``EngineConnection/close()`` was called.
    case forcedClose = "forced close"

    public var description: String { rawValue }
}
