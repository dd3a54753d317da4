import Foundation

/// An HTTP origin: scheme, host and port (RFC 6454).
package struct HTTPOrigin: Hashable, Sendable {
    package let isSecure: Bool
    /// The host in lower case: a name in its DNS form (punycode), or an IPv6 address in brackets.
    package let host: String
    package let port: Int

    /// Parses an absolute http or https URL; returns nil for other texts and for URLs with a user or password.
    package init?(_ url: String) {
        guard let parts = URLComponents(string: url) else { return nil }
        self.init(parts)
    }

    fileprivate init?(_ parts: URLComponents) {
        guard let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil
        else { return nil }
        // Other characters are ambiguous, because some parsers decode them: %61 is an a.
        guard host.utf8.allSatisfy(Self.isHostByte) else { return nil }
        isSecure = scheme == "https"
        self.host = host
        port = parts.port ?? (isSecure ? 443 : 80)
        // NIO traps if a port does not fit in 16 bits.
        guard (1...65_535).contains(port) else { return nil }
    }

    /// The origin as a URL without a path.
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

/// A parsed and rebuilt http or https URL, so that the address check and the HTTP client interpret it identically.
package struct OutboundURL: Sendable {
    package let origin: HTTPOrigin
    /// The path and query, percent-encoded; starts with a slash.
    package let target: String

    package init?(_ url: String) {
        guard let parts = URLComponents(string: url), let origin = HTTPOrigin(parts) else { return nil }
        self.origin = origin
        let path = parts.percentEncodedPath
        target = (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    package var text: String { origin.url + target }
}
