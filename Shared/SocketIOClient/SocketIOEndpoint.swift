import Foundation

/// Where a Socket.IO server is, and how much of it is borne.
public struct SocketIOEndpoint: Hashable, Sendable {
    /// Whose word counts for a server's certificate.
    public enum Trust: Hashable, Sendable {
        case system
        /// The authorities of a PEM file, and no others.
        case file(String)
    }

    public var host: String
    public var port: Int
    public var isSecure: Bool
    /// Begins and ends with a slash.
    public var path: String
    public var trust: Trust
    /// How long it may take from the first packet to the server's word that one is connected.
    public var connectTimeout: Duration
    /// How many bytes one message may have, either way.
    public var maximumMessage: Int
    /// How many bytes may wait to be sent; what comes on top of that is refused.
    public var maximumQueue: Int

    /// The server at an `http`, `https`, `ws` or `wss` URL, of which host and port count and a path is not looked at.
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

    /// As the `Host` header has it.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }
}
