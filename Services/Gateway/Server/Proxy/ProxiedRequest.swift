import NIOCore
import NIOHTTP1

struct ProxiedRequest {
    let head: HTTPRequestHead
    let method: MethodSet
    let started: NIODeadline
    var parsedHead: ParsedRequestHead?
    /// The target for the service; nil keeps the client's target.
    var target: String?
    var origin: Origin?
    var route: Route?
    var requestID = ""
    var traceparent = ""

    var upstream: UpstreamHandler?
    /// The index of the service; nil for the gateway's own responses.
    var service: Int?
    var connectionAttempts = 0
    /// The tag of the only suitable instance, when the request names an Engine.IO session.
    var session: Substring?
    /// Instances at which the request has failed.
    var tried = TriedPools()
    var isRetry = false
    var attemptBegan: NIODeadline
    /// The remaining quota of the limit that was counted last.
    var quota: RateQuota?

    var keepAlive: Bool
    var requestEnded = false
    var responseBegan = false
    var framing = ResponseHead.Framing.none
    var status: UInt = 0
    var deflater: Deflater?
    /// The service's 101 response, kept until its end.
    var upgradeResponse: HTTPResponseHead?
    var requestBytes = 0
    var responseBytes = 0

    /// Bytes received since the head, with chunk headers.
    var wireBytes = 0
    /// The time since which the gateway waits for the next part of the body.
    var bodyWaitBegan: NIODeadline?
    /// The remaining time that the client may delay its body; nil before the first part.
    var bodyCredit: TimeAmount?
    var lastRequestActivity: NIODeadline
    var lastResponseActivity: NIODeadline

    init(_ head: HTTPRequestHead, now: NIODeadline) {
        self.head = head
        method = MethodSet(head.method)
        started = now
        attemptBegan = now
        lastRequestActivity = now
        lastResponseActivity = now
        keepAlive = head.isKeepAlive
    }

    /// A placeholder for a request that did not arrive or could not be parsed.
    static var none: ProxiedRequest {
        var request = ProxiedRequest(emptyHead, now: .now())
        request.keepAlive = false
        return request
    }

    private static let emptyHead = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")

    /// Whether the rest of the body is so small that reading it is better than closing the connection.
    var hasSmallRemainingBody: Bool {
        guard let parsedHead, !parsedHead.expectsContinue else { return requestEnded }
        return switch parsedHead.framing {
        case .none: true
        case .length(let length): length - requestBytes <= Self.smallRemainingBody
        case .chunked: false
        }
    }

    static let smallRemainingBody = 64 * 1_024

    /// Whether this is a long poll, which the service holds until an event is due.
    var isPoll: Bool { session != nil && method == .get && parsedHead?.wantsWebSocket == false }

    var isStream: Bool { route.map { !method.isEmpty && $0.streams.contains(method) } ?? false }

    /// Whether the request waits for events for an unlimited time.
    var isLongLived: Bool { isPoll || isStream }

    /// Whether the request may be sent to a service twice: idempotent, without a body, and without a response so far.
    ///
    /// A request with a session id may not be, because a second poll violates the protocol and ends the session.
    var isRetryable: Bool {
        MethodSet.idempotent.contains(method) && !(parsedHead?.framing.hasBody ?? true) && !isRetry && !responseBegan
            && session == nil
    }

    /// Whether the bytes received far exceed the body: chunk extensions, or very small chunks.
    var isPadded: Bool {
        wireBytes - requestBytes > 64 * 1_024 + 8 * requestBytes
    }
}
