import Foundation

/// The address of a Socket.IO server and the limits of a connection to it.
public struct SocketIOEndpoint: Hashable, Sendable {
    /// The certificate authorities that may sign the server's certificate.
    public enum Trust: Hashable, Sendable {
        /// The system's authorities.
        case system
        /// The authorities of a PEM file only; the value is its path.
        case file(String)
    }

    /// The host name or IP address, without brackets.
    public var host: String
    /// The TCP port.
    public var port: Int
    /// Whether the connection uses TLS.
    public var isSecure: Bool
    /// The path of the server's requests; it begins and ends with a slash.
    public var path: String
    /// The authorities that may sign the server's certificate.
    public var trust: Trust
    /// The time from the first TCP packet until the server has accepted the socket.
    public var connectTimeout: Duration
    /// The largest message in bytes, in either direction.
    public var maximumMessage: Int
    /// The largest number of bytes waiting to be sent; further messages are rejected.
    public var maximumQueue: Int

    /// Creates an endpoint from an `http`, `https`, `ws` or `wss` URL; the URL's path is ignored.
    ///
    /// - Parameters:
    ///   - url: The URL, whose port defaults to 80 or 443.
    ///   - path: The path of the server's requests.
    ///   - trust: The authorities that may sign the server's certificate.
    ///   - connectTimeout: The time limit of ``connectTimeout``.
    ///   - maximumMessage: The limit of ``maximumMessage`` in bytes.
    ///   - maximumQueue: The limit of ``maximumQueue`` in bytes.
    /// - Throws: ``SocketIOClientError/badURL(_:)``.
    public init(
        _ url: String,
        path: String = "/socket.io/",
        trust: Trust = .system,
        connectTimeout: Duration = .seconds(10),
        maximumMessage: Int = 8 << 20,
        maximumQueue: Int = 16 << 20
    ) throws(SocketIOClientError) {
        guard
            let parts = URLComponents(string: url),
            let scheme = parts.scheme?.lowercased(), ["http", "https", "ws", "wss"].contains(scheme),
            let host = parts.host, !host.isEmpty
        else {
            throw .badURL(url)
        }
        isSecure = scheme == "https" || scheme == "wss"
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? (isSecure ? 443 : 80)
        self.path = path
        self.trust = trust
        self.connectTimeout = connectTimeout
        self.maximumMessage = maximumMessage
        self.maximumQueue = maximumQueue
    }

    /// The value of the `Host` header.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}
