import Foundation

/// Scheme, host and port of a URL (RFC 6454).
package struct HTTPOrigin: Hashable, Sendable {
    package let isSecure: Bool
    /// In lower case; an IPv6 address in brackets.
    package let host: String
    package let port: Int

    /// Nil for what is no absolute http or https URL, and for one that carries a user or a password.
    package init?(_ url: String) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = parts.percentEncodedHost, !host.isEmpty,
            parts.user == nil, parts.password == nil
        else { return nil }
        isSecure = scheme == "https"
        self.host = host.lowercased()
        port = parts.port ?? (isSecure ? 443 : 80)
    }

    /// As a URL without a path.
    package var url: String {
        let isStandard = port == (isSecure ? 443 : 80)
        return "\(isSecure ? "https" : "http")://\(host)\(isStandard ? "" : ":\(port)")"
    }
}
