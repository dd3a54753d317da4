import NIOCore
import NIOHTTP1
import ServiceHost
import Wire

/// The answer on its way to the client, a service's or our own.
extension ProxyHandler {
    // MARK: A service's

    func responseBegan(_ head: HTTPResponseHead, from upstream: UpstreamHandler) {
        guard request.upstream === upstream, let parsedHead = request.parsedHead else { return }
        guard head.status != .switchingProtocols || parsedHead.wantsWebSocket else {
            refuse(GatewayError.brokenResponse)
            return
        }
        let now = NIODeadline.now()
        upstream.pool.health.metrics.answered(
            head.status.code,
            after: request.isPoll ? nil : now - request.attemptBegan
        )
        guard !isRetriedElsewhere(head.status, from: upstream) else { return }
        request.responseBegan = true
        request.lastResponseActivity = now
        request.status = head.status.code
        guard head.status != .switchingProtocols else {
            request.upgradeResponse = head
            return
        }
        // Who is answered while still sending may never finish.
        if !request.requestEnded || loop.isDraining { request.keepAlive = false }
        let compression = compression(of: head, parsedHead: parsedHead)
        if compression == .now { request.deflater = Deflater(activeCount: loop.deflaters) }
        var (fields, framing) = ResponseHead.fields(
            of: head,
            isCompressed: request.deflater != nil,
            isBodyless: request.method == .head,
            keepsCORS: request.route?.handlesCORS ?? false,
            version: request.head.version,
            requestID: request.requestID,
            traceparent: request.traceparent
        )
        if framing == .close { request.keepAlive = false }
        request.framing = framing
        request.quota?.addFields(&fields)
        if compression != .never { fields.append(("vary", "accept-encoding")) }
        if request.route?.handlesCORS != true { state.cors.addFields(&fields, origin: parsedHead.origin) }
        addTransport(&fields)
        write(.head(HTTPResponseHead(version: .http1_1, status: head.status, headers: HTTPHeaders(fields))))
    }

    func responseContinued(on bytes: ByteBuffer) {
        guard request.framing != .none else { return }
        send(request.deflater?.compress(bytes) ?? bytes)
    }

    private func send(_ bytes: ByteBuffer) {
        guard bytes.readableBytes > 0 else { return }
        request.responseBytes += bytes.readableBytes
        write(.body(.byteBuffer(bytes)))
    }

    /// Whether a service's answer goes on compressed.
    private func compression(of head: HTTPResponseHead, parsedHead: ParsedRequestHead) -> Compression.Decision {
        guard state.configuration.compressesResponses, request.route?.isCompressible == true, request.method != .head,
            request.head.version != .http1_0
        else {
            return .never
        }
        let hasCompressionSlot = loop.deflaters.count < Compression.limit
        return Compression.decision(on: head, acceptsGzip: parsedHead.acceptsGzip && hasCompressionSlot)
    }

    func responseEnded(_ trailers: HTTPHeaders?) {
        guard phase == .forwarding, let upstream = request.upstream, request.responseBegan else { return }
        if let upgradeResponse = request.upgradeResponse {
            becomeTunnel(upgradeResponse, upstream: upstream)
            return
        }
        if let deflater = request.deflater {
            send(deflater.finish())
            request.deflater = nil
        }
        writeEnd(request.framing.mayHaveTrailers ? ParsedRequestHead.trailers(trailers) : nil)
        request.upstream = nil
        upstream.release(isComplete: request.requestEnded && request.parsedHead?.wantsWebSocket == false)
        finish()
    }

    /// Ends a stream of events between two of them, as far as anybody can tell: its reader comes back and goes on from the
    /// last one that he has.
    func endStream() {
        detachUpstream()
        request.keepAlive = false
        writeEnd(nil)
        finish()
    }

    /// Sends what has come of the answer; says whether the client takes more.
    func flushReportingWritability() -> Bool {
        // What has come so far may be all that comes for a while.
        if let deflater = request.deflater, deflater.hasPendingOutput { send(deflater.flush()) }
        flush()
        request.lastResponseActivity = .now()
        if isWritable { return true }
        stalledSince = stalledSince ?? request.lastResponseActivity
        return false
    }

    // MARK: Our own

    /// Answers with an error, in place of whatever was going on.
    func refuse(_ error: APIError) {
        if request.responseBegan {
            close()
            return
        }
        // A request whose header fields could not be read has neither of them yet.
        if request.requestID.isEmpty { request.requestID = loop.ids.requestID() }
        if request.traceparent.isEmpty { request.traceparent = loop.ids.traceparent() }
        // Who cannot be understood once is not listened to any further.
        if error.kind == .invalid || error.kind == .uriTooLong { request.keepAlive = false }
        var response = GatewayResponse(problem: error, requestID: request.requestID)
        if error.kind == .methodNotAllowed, let route = request.route { response.fields.append(("allow", route.allow)) }
        respond(response)
    }

    /// Sends an answer of our own, stamped with what a browser wants to know unless it `hasCORSFields` already.
    func respond(_ response: GatewayResponse, hasCORSFields: Bool = false) {
        detachUpstream()
        // What else was sent with the head is a small rest, or the reason to close.
        if !request.requestEnded && !request.hasSmallRemainingBody || loop.isDraining { request.keepAlive = false }
        request.responseBegan = true
        request.status = response.status.code
        var fields = response.fields
        fields.reserveCapacity(fields.count + 7)
        if response.status.mayHaveLength { fields.append(("content-length", String(response.body.readableBytes))) }
        fields.append(("date", loop.clock.now()))
        fields.append(("x-request-id", request.requestID))
        fields.append(("traceparent", request.traceparent))
        request.quota?.addFields(&fields)
        if !hasCORSFields { state.cors.addFields(&fields, origin: request.parsedHead?.origin) }
        addTransport(&fields)
        write(.head(HTTPResponseHead(version: .http1_1, status: response.status, headers: HTTPHeaders(fields))))
        if request.method != .head, response.body.readableBytes > 0 {
            request.responseBytes = response.body.readableBytes
            write(.body(.byteBuffer(response.body)))
        }
        writeEnd(nil)
        finish()
    }

    /// Ends what is asked of the service, whatever it still says.
    private func detachUpstream() {
        let upstream = request.upstream
        request.upstream = nil
        upstream?.close()
    }

    /// Adds what the answer says of the connection it comes over.
    private func addTransport(_ fields: inout [(String, String)]) {
        if state.configuration.hstsSeconds > 0, origin.scheme == "https" {
            fields.append(("strict-transport-security", "max-age=\(state.configuration.hstsSeconds)"))
        }
        // HTTP/2 has no such field; there, one request's end says nothing of the connection.
        guard codec != nil else { return }
        if !request.keepAlive {
            fields.append(("connection", "close"))
        } else if request.head.version < .http1_1 {
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
