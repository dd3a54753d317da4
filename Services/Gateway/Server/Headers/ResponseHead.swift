import NIOHTTP1

/// Makes the head that a client gets of the one a service gave.
enum ResponseHead {
    /// How the end of an answer's body is told.
    enum Framing {
        case none
        case length
        case chunked
        /// By the connection's end: HTTP/1.0 without a length.
        case close
        /// By the stream's end: HTTP/2.
        case stream

        var mayHaveTrailers: Bool { self == .chunked || self == .stream }
    }

    /// The fields of the answer and how its end is told.
    ///
    /// An answer `isBodyless` that has no body whatever its fields say, as to `HEAD`; `version` is the client's. What a
    /// service says of other origins is dropped, since that is the gateway's to say, unless the route `keepsCORS`.
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
