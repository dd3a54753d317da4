public import Foundation

/// The error of a failed connection or request.
public enum SocketIOClientError: Error, Hashable, Sendable {
    /// The URL is not an `http`, `https`, `ws` or `wss` URL with a host.
    case badURL(String)
    /// The server does not respond or is not a Socket.IO server; the text is a reason for people.
    case unreachable(String)
    /// The server answered the WebSocket upgrade with this HTTP status.
    case refusedByHTTP(Int)
    /// The server refused the connection, for example its `auth`; `data` is JSON from the server.
    case refused(message: String, data: Data?)
    /// The server did not answer in time.
    case timedOut
    /// The connection was closed; a pending request may have taken effect.
    case closed(SocketIOClosing)
    /// The limit of bytes to send or of pending acknowledgements is reached.
    case tooMuchWaiting
    /// The message exceeds ``SocketIOEndpoint/maximumMessage``.
    case messageTooLarge
}

/// The reason for the end of a connection.
public enum SocketIOClosing: Hashable, Sendable {
    /// The client closed the connection.
    case byClient
    /// The server disconnected the socket or closed the connection.
    case byServer
    /// The connection broke without a closing message.
    case lost
    /// The server sent no ping in time.
    case silent
    /// The server violated the protocol; the text names the invalid data.
    case protocolViolation(String)
}

extension SocketIOClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badURL(let url): "\(url) is not the URL of a server; use http, https, ws or wss with a host"
        case .unreachable(let reason): "the server cannot be reached: \(reason)"
        case .refusedByHTTP(let status): "the server answered the WebSocket upgrade with status \(status)"
        case .refused(let message, _): "the server refused the connection: \(message)"
        case .timedOut: "the server did not answer in time"
        case .closed(let closing): "the connection is closed: \(closing)"
        case .tooMuchWaiting: "too many bytes or acknowledgements are pending"
        case .messageTooLarge: "the message is too large"
        }
    }
}

extension SocketIOClosing: CustomStringConvertible {
    public var description: String {
        switch self {
        case .byClient: "closed by the client"
        case .byServer: "closed by the server"
        case .lost: "connection lost"
        case .silent: "no ping in time"
        case .protocolViolation(let what): "the server sent \(what)"
        }
    }
}
