/// The reason for the end of a socket or connection; the raw values are those of the JavaScript server, socket.io.
public enum DisconnectReason: String, Hashable, Sendable, CustomStringConvertible {
    /// The client left the namespace.
    case clientNamespaceDisconnect = "client namespace disconnect"
    /// The application called ``Socket/disconnect(close:)``.
    case serverNamespaceDisconnect = "server namespace disconnect"
    /// The server shuts down.
    case serverShuttingDown = "server shutting down"
    /// The client violated the protocol, connected to no namespace in time, or was refused too often.
    case forcedServerClose = "forced server close"
    /// The client missed a heartbeat.
    case pingTimeout = "ping timeout"
    /// The client closed the connection, or the network failed.
    case transportClose = "transport close"
    /// The client misused the transport, or did not read the data sent to it.
    case transportError = "transport error"
    /// The client sent data that is not a valid packet.
    case parseError = "parse error"
    /// The application called ``EngineConnection/close()``.
    case forcedClose = "forced close"

    public var description: String { rawValue }
}
