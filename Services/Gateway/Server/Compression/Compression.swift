import NIOHTTP1

/// The rules that decide which responses are compressed.
///
/// An attacker who can place text beside a secret in a compressed response learns the secret from the response's length
/// (the BREACH attack). Only routes whose responses contain no secrets are therefore compressed.
enum Compression {
    /// Responses below this number of bytes fit into one packet and are not compressed.
    static let minimumSize = 1_024
    /// The maximum number of responses that one event loop compresses at the same time, with 256 kB of memory each.
    ///
    /// Further responses are sent uncompressed.
    static let limit = 64

    /// Routes with public documents, or with content that every user who can write it may also read.
    ///
    /// Routes under `/auth` are excluded. Lists and details of conversations are excluded because their tokens let
    /// users join.
    private static let templates: Set<String> = [
        "/conversations/{token}/messages", "/conversations/{token}/changes",
        "/.well-known/jwks.json", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
    ]

    static func isSafe(_ template: String) -> Bool {
        templates.contains(template)
    }

    private static let types: Set<Substring> = [
        "application/json", "application/problem+json", "application/yaml", "application/javascript",
        "application/manifest+json", "application/xml", "image/svg+xml",
    ]

    /// Returns whether a content type is text; `text/event-stream` is not, because each event is sent separately.
    static func isText(_ contentType: String) -> Bool {
        let essence = contentType.prefix { $0 != ";" }.trimmedASCII.lowercased()
        return essence.hasPrefix("text/") ? essence != "text/event-stream" : types.contains(essence[...])
    }

    enum Decision {
        case never
        /// Compressible for another client or at another time, so the response needs `Vary`.
        case notNow
        case now
    }

    static func decision(on head: HTTPResponseHead, acceptsGzip: Bool) -> Decision {
        guard (200..<300).contains(head.status.code), ![204, 205, 206].contains(head.status.code) else { return .never }
        var isText = false
        var length = Int.max
        for (name, value) in head.headers {
            switch name.lowercased() {
            case "content-type": isText = Self.isText(value)
            case "content-length": length = Int(value) ?? 0
            case "content-encoding" where !FieldValue.equals(value, "identity"): return .never
            case "content-range", "content-digest", "digest", "repr-digest": return .never
            case "cache-control" where FieldValue.list(value, contains: "no-transform"): return .never
            default: break
            }
        }
        guard isText, length >= minimumSize else { return .never }
        return acceptsGzip ? .now : .notNow
    }

    static func apply(to fields: inout [(String, String)]) {
        fields.removeAll { name, _ in
            let name = name.lowercased()
            return name == "content-length" || name == "accept-ranges" || name == "content-encoding"
        }
        // The service's ETag names the uncompressed bytes, so it becomes a weak ETag.
        for index in fields.indices where fields[index].0.lowercased() == "etag" {
            if !fields[index].1.hasPrefix("W/") { fields[index].1 = "W/" + fields[index].1 }
        }
        fields.append(("content-encoding", "gzip"))
    }
}

extension FieldValue {
    /// Returns whether `Accept-Encoding` accepts gzip: by name or by `*`, with a weight above 0.
    static func acceptsGzip(_ value: String) -> Bool {
        var byName: Bool?
        var byStar = false
        for part in tokens(of: value) {
            let pieces = part.split(separator: ";").map(\.trimmedASCII)
            guard let coding = pieces.first else { continue }
            let weight = pieces.dropFirst().first { $0.lowercased().hasPrefix("q=") }
                .map { Double($0.dropFirst(2)) ?? 0 }
            let isAccepted = weight ?? 1 > 0
            if equals(coding, "gzip") || equals(coding, "x-gzip") {
                byName = isAccepted
            } else if coding == "*" {
                byStar = isAccepted
            }
        }
        return byName ?? byStar
    }
}
