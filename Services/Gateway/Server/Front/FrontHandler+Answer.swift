import NIOCore
import NIOHTTP1
import ServiceHost
import Wire

/// The answer on its way to the client, a service's or our own.
extension FrontHandler {
    // MARK: A service's

    func answerBegan(_ head: HTTPResponseHead, from upstream: UpstreamHandler) {
        guard exchange.upstream === upstream, let facts = exchange.facts else { return }
        guard head.status != .switchingProtocols || facts.wantsWebSocket else {
            refuse(Refusal.brokenAnswer)
            return
        }
        let now = NIODeadline.now()
        upstream.pool.health.meters.answered(
            head.status.code,
            after: exchange.isPoll ? nil : now - exchange.attemptBegan
        )
        guard !isPassedOver(head.status, from: upstream) else { return }
        exchange.answerBegan = true
        exchange.lastAnswered = now
        exchange.status = head.status.code
        guard head.status != .switchingProtocols else {
            exchange.agreement = head
            return
        }
        // Who is answered while still sending may never finish.
        if !exchange.requestEnded || loop.isDraining { exchange.keepAlive = false }
        let compression = compression(of: head, facts: facts)
        if compression == .now { exchange.deflater = Deflater(tally: loop.deflaters) }
        var (fields, framing) = AnswerHead.fields(
            of: head,
            isCompressed: exchange.deflater != nil,
            isBodyless: exchange.method == .head,
            keepsCors: exchange.route?.answersCors ?? false,
            version: exchange.head.version,
            requestID: exchange.requestID,
            traceparent: exchange.traceparent
        )
        if framing == .close { exchange.keepAlive = false }
        exchange.framing = framing
        exchange.quota?.stamp(&fields)
        if compression != .never { fields.append(("vary", "accept-encoding")) }
        if exchange.route?.answersCors != true { edge.cors.stamp(&fields, origin: facts.origin) }
        addTransport(&fields)
        write(.head(HTTPResponseHead(version: .http1_1, status: head.status, headers: HTTPHeaders(fields))))
    }

    func answerWent(on bytes: ByteBuffer) {
        guard exchange.framing != .none else { return }
        send(exchange.deflater?.take(bytes) ?? bytes)
    }

    private func send(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        exchange.answerBytes += bytes.readableBytes
        write(.body(.byteBuffer(bytes)))
    }

    /// Whether a service's answer goes on compressed.
    private func compression(of head: HTTPResponseHead, facts: RequestFacts) -> Compression.Verdict {
        guard edge.configuration.compresses, exchange.route?.isCompressible == true, exchange.method != .head,
            exchange.head.version != .http1_0
        else {
            return .never
        }
        let isRoomy = loop.deflaters.count < Compression.limit
        return Compression.verdict(on: head, acceptsGzip: facts.acceptsGzip && isRoomy)
    }

    func answerEnded(_ trailers: HTTPHeaders?) {
        guard phase == .forwarding, let upstream = exchange.upstream, exchange.answerBegan else { return }
        if let agreement = exchange.agreement {
            becomeTunnel(agreement, upstream: upstream)
            return
        }
        if let deflater = exchange.deflater {
            send(deflater.finish())
            exchange.deflater = nil
        }
        writeEnd(exchange.framing.mayHaveTrailers ? RequestFacts.trailers(trailers) : nil)
        exchange.upstream = nil
        upstream.release(isComplete: exchange.requestEnded && exchange.facts?.wantsWebSocket == false)
        finish()
    }

    /// Ends a stream of events between two of them, as far as anybody can tell: its reader comes back and goes on from the
    /// last one that he has.
    func endStream() {
        leaveUpstream()
        exchange.keepAlive = false
        writeEnd(nil)
        finish()
    }

    /// Sends what has come of the answer; says whether the client takes more.
    func takesMore() -> Bool {
        // What has come so far may be all that comes for a while.
        if let deflater = exchange.deflater, deflater.holdsBack { send(deflater.flush()) }
        flush()
        exchange.lastAnswered = .now()
        if isWritable { return true }
        stalled = stalled ?? exchange.lastAnswered
        return false
    }

    // MARK: Our own

    /// Answers with an error, in place of whatever was going on.
    func refuse(_ error: APIError) {
        if exchange.answerBegan {
            close()
            return
        }
        // A request whose header fields could not be read has neither of them yet.
        if exchange.requestID.isEmpty { exchange.requestID = loop.ids.requestID() }
        if exchange.traceparent.isEmpty { exchange.traceparent = loop.ids.traceparent() }
        // Who cannot be understood once is not listened to any further.
        if error.kind == .invalid || error.kind == .uriTooLong { exchange.keepAlive = false }
        var answer = Answer(problem: error, requestID: exchange.requestID)
        if error.kind == .methodNotAllowed, let route = exchange.route { answer.fields.append(("allow", route.allow)) }
        respond(answer)
    }

    /// Sends an answer of our own, stamped with what a browser wants to know unless it `isStamped` already.
    func respond(_ answer: Answer, isStamped: Bool = false) {
        leaveUpstream()
        // What else was sent with the head is a small rest, or the reason to close.
        if !exchange.requestEnded && !exchange.hasSmallRest || loop.isDraining { exchange.keepAlive = false }
        exchange.answerBegan = true
        exchange.status = answer.status.code
        var fields = answer.fields
        fields.reserveCapacity(fields.count + 7)
        if answer.status.mayHaveLength { fields.append(("content-length", String(answer.body.readableBytes))) }
        fields.append(("date", loop.clock.now()))
        fields.append(("x-request-id", exchange.requestID))
        fields.append(("traceparent", exchange.traceparent))
        exchange.quota?.stamp(&fields)
        if !isStamped { edge.cors.stamp(&fields, origin: exchange.facts?.origin) }
        addTransport(&fields)
        write(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: HTTPHeaders(fields))))
        if exchange.method != .head, answer.body.readableBytes > 0 {
            exchange.answerBytes = answer.body.readableBytes
            write(.body(.byteBuffer(answer.body)))
        }
        writeEnd(nil)
        finish()
    }

    /// Ends what is asked of the service, whatever it still says.
    private func leaveUpstream() {
        let upstream = exchange.upstream
        exchange.upstream = nil
        upstream?.close()
    }

    /// Adds what the answer says of the connection it comes over.
    private func addTransport(_ fields: inout [(String, String)]) {
        if edge.configuration.strictTransportSeconds > 0, origin.scheme == "https" {
            fields.append(("strict-transport-security", "max-age=\(edge.configuration.strictTransportSeconds)"))
        }
        // HTTP/2 has no such field; there, one request's end says nothing of the connection.
        guard codec != nil else { return }
        if !exchange.keepAlive {
            fields.append(("connection", "close"))
        } else if exchange.head.version < .http1_1 {
            fields.append(("connection", "keep-alive"))
        }
    }
}

extension HTTPVersion {
    static func < (one: HTTPVersion, other: HTTPVersion) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }
}

extension HTTPResponseStatus {
    var mayHaveLength: Bool { self != .noContent && self != .notModified }
}
