import Foundation

/// The parts of an `http` or `https` URL that a request needs.
struct HTTPAddress: Hashable, Sendable {
    var origin: Origin
    /// Path and query, percent-encoded, with a leading slash.
    var path: String

    /// Returns nil for another scheme, a URL with credentials, or more than 2,048 bytes.
    init?(_ url: String) {
        guard url.utf8.count <= 2_048, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let parts = URLComponents(string: url), parts.user == nil, parts.password == nil,
            let scheme = parts.scheme?.lowercased(), scheme == "https" || scheme == "http",
            let host = parts.percentEncodedHost?.lowercased(), !host.isEmpty, !host.contains("%")
        else { return nil }
        let isSecure = scheme == "https"
        let port = parts.port ?? (isSecure ? 443 : 80)
        guard (1...65_535).contains(port) else { return nil }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        origin = Origin(isSecure: isSecure, host: bare, port: port)
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.path = parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
    }

    /// The path without a trailing slash, as a prefix of other paths.
    var basePath: String { path.hasSuffix("/") ? String(path.dropLast()) : path }
}

/// Scheme, host and port (RFC 6454).
struct Origin: Hashable, Sendable, CustomStringConvertible {
    var isSecure: Bool
    /// In lower case; an IPv6 address without its brackets.
    var host: String
    var port: Int

    var authority: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// The serialization, which is also the audience of a VAPID token.
    var description: String { "\(isSecure ? "https" : "http")://\(authority)" }
}
