import NIOCore
import NIOHTTP1

/// One request and its answer, as far as they have come.
struct Exchange {
    let head: HTTPRequestHead
    let method: MethodSet
    let started: NIODeadline
    var facts: RequestFacts?
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
    var answerBegan = false
    var framing = AnswerHead.Framing.none
    var status: UInt = 0
    /// What compresses the answer's body.
    var deflater: Deflater?
    /// The service's 101, until its end.
    var agreement: HTTPResponseHead?
    var requestBytes = 0
    var answerBytes = 0

    /// Bytes as they came over the wire since the head, with their chunk headers.
    var wireBytes = 0
    /// Since when a piece of the body is waited for.
    var bodyAwaited: NIODeadline?
    /// How long the client may still keep us waiting for its body; nil before the first piece.
    var bodyCredit: TimeAmount?
    /// When the request last went on, and the answer.
    var lastSent: NIODeadline
    var lastAnswered: NIODeadline

    init(_ head: HTTPRequestHead, now: NIODeadline) {
        self.head = head
        method = MethodSet(head.method)
        started = now
        attemptBegan = now
        lastSent = now
        lastAnswered = now
        keepAlive = head.isKeepAlive
    }

    /// What stands in for a request that did not come, or could not be read.
    static var none: Exchange {
        var exchange = Exchange(noHead, now: .now())
        exchange.keepAlive = false
        return exchange
    }

    private static let noHead = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")

    /// Whether what is left of the body is so little that it is better read than the connection closed.
    var hasSmallRest: Bool {
        guard let facts, !facts.expectsContinue else { return requestEnded }
        return switch facts.framing {
        case .none: true
        case .length(let length): length - requestBytes <= Self.smallRest
        case .chunked: false
        }
    }

    static let smallRest = 64 * 1_024

    /// Whether it asks a session for what there is to tell, and is held until there is something.
    var isPoll: Bool { session != nil && method == .get && facts?.wantsWebSocket == false }

    /// Whether its answer is a stream of events, which ends when its reader or its service has enough.
    var isStream: Bool { route.map { !method.isEmpty && $0.streams.contains(method) } ?? false }

    /// Whether it is for news, and so holds its place for as long as it takes until there are some.
    var isHeld: Bool { isPoll || isStream }

    /// Whether the service may act on it twice with the effect of once, and nothing of it is lost but its head.
    ///
    /// What names a session is not: to ask for news twice is against the protocol and ends the session.
    var isSafeToRepeat: Bool {
        MethodSet.idempotent.contains(method) && !(facts?.framing.hasBody ?? true) && !isRetry && !answerBegan
            && session == nil
    }

    /// Whether the wire carries far more than the body: chunk extensions, or chunks of next to nothing.
    var isPadded: Bool {
        wireBytes - requestBytes > 64 * 1_024 + 8 * requestBytes
    }
}
