import NIOCore
import NIOHTTP1

/// One request and its answer, as far as they have come.
struct ProxiedRequest {
    let head: HTTPRequestHead
    let method: MethodSet
    let started: NIODeadline
    var parsedHead: ParsedRequestHead?
    /// The target that goes to the service; nil: as the client sent it.
    var target: String?
    /// Where it comes from, once its fields were read.
    var origin: Origin?
    var route: Route?
    var requestID = ""
    var traceparent = ""

    var upstream: UpstreamHandler?
    /// Where the request is going; nil for our own answers.
    var service: Int?
    var connectionAttempts = 0
    /// The tag of the only instance that may be asked, since it has the session that the request names.
    var session: Substring?
    /// Instances that it was sent to in vain.
    var tried = TriedPools()
    /// Whether it was sent a second time.
    var isRetry = false
    /// When it was last sent to an instance.
    var attemptBegan: NIODeadline
    /// What is left to its sender of the limit that is the closest to him.
    var quota: RateQuota?

    /// Whether the connection may serve another request after this one.
    var keepAlive: Bool
    var requestEnded = false
    var responseBegan = false
    var framing = ResponseHead.Framing.none
    var status: UInt = 0
    /// What compresses the answer's body.
    var deflater: Deflater?
    /// The service's 101, until its end.
    var upgradeResponse: HTTPResponseHead?
    var requestBytes = 0
    var responseBytes = 0

    /// Bytes as they came over the wire since the head, with their chunk headers.
    var wireBytes = 0
    /// Since when a piece of the body is waited for.
    var bodyWaitBegan: NIODeadline?
    /// How long the client may still keep us waiting for its body; nil before the first piece.
    var bodyCredit: TimeAmount?
    /// When the request last went on, and the answer.
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

    /// What stands in for a request that did not come, or could not be read.
    static var none: ProxiedRequest {
        var request = ProxiedRequest(emptyHead, now: .now())
        request.keepAlive = false
        return request
    }

    private static let emptyHead = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")

    /// Whether what is left of the body is so little that it is better read than the connection closed.
    var hasSmallRemainingBody: Bool {
        guard let parsedHead, !parsedHead.expectsContinue else { return requestEnded }
        return switch parsedHead.framing {
        case .none: true
        case .length(let length): length - requestBytes <= Self.smallRemainingBody
        case .chunked: false
        }
    }

    static let smallRemainingBody = 64 * 1_024

    /// Whether it asks a session for what there is to tell, and is held until there is something.
    var isPoll: Bool { session != nil && method == .get && parsedHead?.wantsWebSocket == false }

    /// Whether its answer is a stream of events, which ends when its reader or its service has enough.
    var isStream: Bool { route.map { !method.isEmpty && $0.streams.contains(method) } ?? false }

    /// Whether it is for news, and so holds its place for as long as it takes until there are some.
    var isLongLived: Bool { isPoll || isStream }

    /// Whether the service may act on it twice with the effect of once, and nothing of it is lost but its head.
    ///
    /// What names a session is not: to ask for news twice is against the protocol and ends the session.
    var isRetryable: Bool {
        MethodSet.idempotent.contains(method) && !(parsedHead?.framing.hasBody ?? true) && !isRetry && !responseBegan
            && session == nil
    }

    /// Whether the wire carries far more than the body: chunk extensions, or chunks of next to nothing.
    var isPadded: Bool {
        wireBytes - requestBytes > 64 * 1_024 + 8 * requestBytes
    }
}
