import NIOHTTP1
import Wire

/// The parsed header fields of a request, and the fields to forward to a service.
struct ParsedRequestHead {
    enum Framing: Equatable {
        case none
        case length(Int)
        case chunked

        var hasBody: Bool { self != .none && self != .length(0) }
    }

    enum Credential: Equatable {
        case none
        case bearer(String)
        case session(String)
        /// Repeated, or in an unsupported form.
        case unreadable
    }

    private(set) var framing = Framing.none
    private(set) var credential = Credential.none
    private(set) var host: String?
    private(set) var requestID: String?
    private(set) var traceparent: String?
    private(set) var origin: String?
    private(set) var acceptsGzip = false
    /// The forwarding fields, which are valid only from trusted proxies.
    private(set) var forwarding = Forwarding()
    /// Whether the client waits for 100 (Continue) before it sends its body.
    private(set) var expectsContinue = false
    /// Whether the client requested an upgrade, after which NIO's decoder stops at the end of the request.
    private(set) var hasUpgrade = false
    private(set) var wantsWebSocket = false
    private(set) var isPreflight = false
    /// The CORS request fields, which the gateway handles unless the service does.
    private(set) var corsRequestFields: [(String, String)] = []
    /// The client's fields to forward, in their original order and number.
    private(set) var forwarded: [(String, String)] = []

    /// Parses the header fields of a request.
    ///
    /// - Throws: `APIError` for ambiguous fields.
    init(_ head: HTTPRequestHead) throws(APIError) {
        var connection: [String] = []
        var upgrade: String?
        var traceState: [String] = []
        var traces = 0
        forwarded.reserveCapacity(head.headers.count + 9)
        for (name, value) in head.headers {
            // Splitting or comparing such a value takes quadratic time: half a second for 64 kB.
            guard !value.hasTooManyMarks else {
                throw GatewayError.invalid("header", "a header field may have at most 128 combining marks in a row")
            }
            switch HeaderKind(name) {
            case .endToEnd: forwarded.append((name, value))
            case .hopByHop, .reserved: break
            case .connection: connection.append(value)
            case .host:
                guard host == nil else { throw GatewayError.invalid("host", "the request has two Host fields") }
                guard FieldValue.isHost(value) else {
                    throw GatewayError.invalid("host", "the Host field is malformed")
                }
                host = value
            case .contentLength:
                guard let length = FieldValue.length(value), framing == .none else {
                    throw GatewayError.invalid("content_length", "the Content-Length field must be one decimal number")
                }
                framing = .length(length)
            case .transferEncoding:
                // On an HTTP/2 stream, `StreamCodec` adds this field for a body of unknown length.
                guard framing == .none, FieldValue.equals(value, "chunked"), head.version != .http1_0 else {
                    throw GatewayError.invalid("transfer_encoding", "the Transfer-Encoding field must be chunked")
                }
                framing = .chunked
            case .expect:
                guard FieldValue.equals(value, "100-continue") else {
                    throw GatewayError.invalid("expect", "the Expect field must be 100-continue")
                }
                expectsContinue = head.version != .http1_0
            case .upgrade: upgrade = value
            case .authorization:
                setCredential(FieldValue.bearer(value).map(Credential.bearer) ?? .unreadable)
                forwarded.append((name, value))
            case .sessionToken:
                setCredential(.session(value))
                forwarded.append((name, value))
            case .acceptEncoding:
                acceptsGzip = acceptsGzip || FieldValue.acceptsGzip(value)
                forwarded.append((name, value))
            case .forwardedFor: forwarding.addresses.append(value)
            case .forwardedProto: forwarding.scheme = value
            case .forwardedHost: forwarding.host = value
            case .requestID: requestID = requestID == nil && FieldValue.isRequestID(value) ? value : requestID
            case .traceparent:
                traces += 1
                traceparent = traces == 1 && FieldValue.isTraceparent(value) ? value : nil
            case .tracestate: traceState.append(value)
            case .origin:
                origin = value
                forwarded.append((name, value))
            case .accessControlRequestMethod:
                isPreflight = head.method == .OPTIONS
                corsRequestFields.append((name, value))
            case .accessControl: corsRequestFields.append((name, value))
            }
        }
        guard host != nil || head.version == .http1_0 else {
            throw GatewayError.invalid("host", "the Host field is missing")
        }
        // `tracestate` belongs to its trace, and a trace that starts here has none (W3C Trace Context, section 4.3).
        if traceparent != nil { for value in traceState { forwarded.append(("tracestate", value)) } }
        hasUpgrade = upgrade != nil
        if !connection.isEmpty { read(connection, upgrade: upgrade, head: head) }
    }

    /// Sets the credential; `Authorization` takes precedence over a session token, in either order.
    private mutating func setCredential(_ found: Credential) {
        switch (credential, found) {
        case (.none, _), (.session, .bearer), (.session, .unreadable): credential = found
        case (.bearer, .session): break
        default: credential = .unreadable
        }
    }

    /// Removes the fields that `Connection` names, except those that frame and route a request.
    private mutating func read(_ connection: [String], upgrade: String?, head: HTTPRequestHead) {
        var named: Set<String> = []
        for value in connection {
            if FieldValue.equals(value, "keep-alive") || FieldValue.equals(value, "close") { continue }
            for token in FieldValue.tokens(of: value) { named.insert(token.lowercased()) }
        }
        guard !named.isEmpty else { return }
        if named.contains("upgrade"), let upgrade, head.method == .GET, head.version == .http1_1, framing == .none {
            wantsWebSocket = FieldValue.list(upgrade, contains: "websocket")
        }
        forwarded.removeAll { name, _ in named.contains(name.lowercased()) }
    }
}
