import NIOHTTP1

/// Which answers are compressed on their way to a client.
///
/// Only where that gives nothing away: an answer that has a secret beside something an attacker has written tells the
/// secret by its length, if it is compressed (the BREACH attack). So routes are named that have none.
enum Compression {
    /// Smaller answers fit a packet as they are.
    static let smallest = 1_024
    /// Answers being compressed at once on one event loop, each with 256 kB; others go as they are.
    static let limit = 64

    /// Contents of one conversation, which all who write there may read, and public documents.
    ///
    /// Not: anything under `/auth`; lists and details of conversations, whose tokens let people in.
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

    /// Whether a content type is one of text; an event stream is not, since each event is on its own.
    static func isText(_ contentType: String) -> Bool {
        let essence = contentType.prefix { $0 != ";" }.trimmedASCII.lowercased()
        return essence.hasPrefix("text/") ? essence != "text/event-stream" : types.contains(essence[...])
    }

    enum Decision {
        /// Would never be compressed.
        case never
        /// May come compressed to another client.
        case notNow
        case now
    }

    /// Whether a service's answer is compressed for a client that takes gzip, or not.
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
        guard isText, length >= smallest else { return .never }
        return acceptsGzip ? .now : .notNow
    }

    /// Changes the fields of an answer to what they are once it is compressed.
    static func apply(to fields: inout [(String, String)]) {
        fields.removeAll { name, _ in
            let name = name.lowercased()
            return name == "content-length" || name == "accept-ranges" || name == "content-encoding"
        }
        // The bytes are others than those that the service has named.
        for index in fields.indices where fields[index].0.lowercased() == "etag" {
            if !fields[index].1.hasPrefix("W/") { fields[index].1 = "W/" + fields[index].1 }
        }
        fields.append(("content-encoding", "gzip"))
    }
}

extension FieldValue {
    /// Whether `Accept-Encoding` takes gzip: named or by `*`, with a weight above 0.
    static func acceptsGzip(_ value: String) -> Bool {
        var byName: Bool?
        var byStar = false
        for part in tokens(of: value) {
            let pieces = part.split(separator: ";").map(\.trimmedASCII)
            guard let coding = pieces.first else { continue }
            let weight = pieces.dropFirst().first { $0.lowercased().hasPrefix("q=") }
                .map { Double($0.dropFirst(2)) ?? 0 }
            let isTaken = weight ?? 1 > 0
            if equals(coding, "gzip") || equals(coding, "x-gzip") {
                byName = isTaken
            } else if coding == "*" {
                byStar = isTaken
            }
        }
        return byName ?? byStar
    }
}
