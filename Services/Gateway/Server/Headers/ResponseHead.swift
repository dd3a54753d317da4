import NIOHTTP1

enum ResponseHead {
    /// How the end of a response body is marked.
    enum Framing {
        case none
        case length
        case chunked
        /// The end of the connection: HTTP/1.0 without a length.
        case close
        /// The end of the stream: HTTP/2.
        case stream

        var mayHaveTrailers: Bool { self == .chunked || self == .stream }
    }

    /// Returns the fields of the response and its framing.
    ///
    /// A response `isBodyless` has no body, whatever its fields say, for example to `HEAD`; `version` is the client's.
    /// A service's CORS fields are dropped, because the gateway sets its own, unless the route `keepsCORS`.
    static func fields(
        of head: HTTPResponseHead,
        isCompressed: Bool = false,
        isBodyless: Bool,
        keepsCORS: Bool = false,
        version: HTTPVersion,
        requestID: String,
        traceparent: String
    ) -> (fields: [(String, String)], framing: Framing) {
        var fields: [(String, String)] = []
        fields.reserveCapacity(head.headers.count + 7)
        var hasLength = false
        var named: [Substring] = []
        let dropsLength = head.status == .noContent || head.status == .notModified
        for (name, value) in head.headers {
            switch HeaderKind(name) {
            case .connection:
                if !FieldValue.equals(value, "keep-alive") && !FieldValue.equals(value, "close") {
                    named += FieldValue.tokens(of: value)
                }
            case .accessControl where keepsCORS: fields.append((name, value))
            case .hopByHop, .transferEncoding, .upgrade, .requestID, .traceparent, .accessControl,
                .accessControlRequestMethod:
                break
            case .contentLength:
                guard !dropsLength, !hasLength else { break }
                hasLength = true
                fields.append((name, value))
            default: fields.append((name, value))
            }
        }
        for token in named where HeaderKind(String(token)) == .endToEnd {
            fields.removeAll { name, _ in name.lowercased() == token.lowercased() }
        }
        if isCompressed {
            Compression.apply(to: &fields)
            hasLength = false
        }
        fields.append(("x-request-id", requestID))
        fields.append(("traceparent", traceparent))
        let framing: Framing =
            if isBodyless || dropsLength {
                .none
            } else if hasLength {
                .length
            } else {
                version.major > 1 ? .stream : version < .http1_1 ? .close : .chunked
            }
        if framing == .chunked { fields.append(("transfer-encoding", "chunked")) }
        return (fields, framing)
    }
}
