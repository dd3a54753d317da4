import Crypto
import Foundation
import Wire

/// A service behind the gateway: its path prefixes and its instances.
package struct UpstreamService: Sendable {
    /// The services of the suite (api.md section 7): name, path prefixes by whole segments, default address.
    static let suite: [(name: String, prefixes: [String], url: String)] = [
        ("auth", ["/auth", "/1", "/oauth", "/applications", "/.well-known"], "http://127.0.0.1:8081"),
        (
            "conversations", ["/conversations", "/blocks", "/socket.io", "/media/conversations"],
            "http://127.0.0.1:8082"
        ),
        (
            "social",
            ["/networks", "/feed", "/messages", "/notifications", "/scroll", "/webhooks", "/stream", "/broadcasts"],
            "http://127.0.0.1:8083"
        ),
        ("photos", ["/photos", "/media"], "http://127.0.0.1:8084"),
        (
            "push",
            ["/devices", "/notification-settings", "/notifications/log", "/subscriptions", "/push", "/topics"],
            "http://127.0.0.1:8085"
        ),
    ]

    package let name: String
    package let prefixes: [String]
    package let instances: [UpstreamInstance]

    package init(name: String, prefixes: [String], urls: [String]) throws {
        self.name = name
        self.prefixes = prefixes
        instances = try urls.map(UpstreamInstance.init(url:))
        guard !instances.isEmpty else {
            throw GatewayConfigurationError("\(name) has no instance; set \(name.uppercased())_URL")
        }
    }

    /// Returns the length of the longest prefix that `path` begins with, by whole segments.
    func claim(on path: String) -> Int? {
        prefixes
            .filter { path == $0 || path.hasPrefix($0 + "/") }
            .map(\.utf8.count)
            .max()
    }
}

package struct UpstreamInstance: Sendable, Hashable {
    package let url: String
    package let host: String
    package let port: Int
    package let authority: String
    /// The value of `x-roost-instance`: six base64url characters of the SHA-256 of the instance's URL.
    ///
    /// The instance starts its Engine.IO session ids with this tag.
    package let tag: String

    package init(url: String) throws {
        guard let parts = URLComponents(string: url), parts.scheme == "http", let host = parts.host, !host.isEmpty,
            parts.path.isEmpty || parts.path == "/", parts.query == nil, parts.user == nil
        else {
            throw GatewayConfigurationError("\"\(url)\" is not the address of a service; it must be http://host:port")
        }
        self.url = url
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? 80
        authority = parts.port.map { "\(host):\($0)" } ?? host
        let digest = Array(SHA256.hash(data: Array(url.utf8)))
        tag = String(Base64URL.encode(digest).prefix(6))
    }
}
