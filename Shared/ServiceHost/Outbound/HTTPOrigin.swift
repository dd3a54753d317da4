import Foundation

/// Where something is on the web: scheme, host and port (RFC 6454).
package struct HTTPOrigin: Hashable, Sendable {
    package let isSecure: Bool
    /// In lower case, names as the DNS has them (punycode); an IPv6 address in brackets.
    package let host: String
    package let port: Int

    /// Nil for what is no absolute http or https URL, and for one that carries a user or a password.
    package init?(_ url: String) {
        guard let parts = URLComponents(string: url) else { return nil }
        self.init(parts)
    }

    fileprivate init?(_ parts: URLComponents) {
        guard let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil
        else { return nil }
        // Anything else reads differently to those who decode it: %61 is an a.
        guard host.utf8.allSatisfy(Self.isHostByte) else { return nil }
        isSecure = scheme == "https"
        self.host = host
        port = parts.port ?? (isSecure ? 443 : 80)
        // NIO traps on a port that has more than 16 bits.
        guard (1...65_535).contains(port) else { return nil }
    }

    /// As a URL without a path.
    package var url: String {
        let isStandard = port == (isSecure ? 443 : 80)
        return "\(isSecure ? "https" : "http")://\(host)\(isStandard ? "" : ":\(port)")"
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}

/// An http or https URL taken apart and put together again, so that the check and the HTTP client read the same.
package struct OutboundURL: Sendable {
    package let origin: HTTPOrigin
    /// Path and query, percent-encoded; starts with a slash.
    package let target: String

    package init?(_ url: String) {
        guard let parts = URLComponents(string: url), let origin = HTTPOrigin(parts) else { return nil }
        self.origin = origin
        let path = parts.percentEncodedPath
        target = (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    package var text: String { origin.url + target }
}
