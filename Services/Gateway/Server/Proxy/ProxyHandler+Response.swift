import NIOCore
import NIOHTTP1
import ServiceHost
import Wire

extension ProxyHandler {
    // MARK: Service responses

    func responseBegan(_ head: HTTPResponseHead, from upstream: UpstreamHandler) {
        guard request.upstream === upstream, let parsedHead = request.parsedHead else { return }
        guard head.status != .switchingProtocols || parsedHead.wantsWebSocket else {
            refuse(GatewayError.brokenResponse)
            return
        }
        let now = NIODeadline.now()
        upstream.pool.health.metrics.recordResponse(
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
        // A client that receives a response while it still sends may never finish its request.
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

    /// Ends an event stream between two events, as far as the gateway can tell.
    ///
    /// The client reconnects and resumes after its last event.
    func endStream() {
        detachUpstream()
        request.keepAlive = false
        writeEnd(nil)
        finish()
    }

    /// Sends the response data received so far, and returns whether the client accepts more.
    func flushReportingWritability() -> Bool {
        // The next data may be long in coming, so the compressor is flushed.
        if let deflater = request.deflater, deflater.hasPendingOutput { send(deflater.flush()) }
        flush()
        request.lastResponseActivity = .now()
        if isWritable { return true }
        stalledSince = stalledSince ?? request.lastResponseActivity
        return false
    }

    // MARK: Gateway responses

    /// Responds with an error instead of the pending response; closes the connection if a response has begun.
    func refuse(_ error: APIError) {
        if request.responseBegan {
            close()
            return
        }
        // A request whose header fields could not be parsed has neither id.
        if request.requestID.isEmpty { request.requestID = loop.ids.requestID() }
        if request.traceparent.isEmpty { request.traceparent = loop.ids.traceparent() }
        // After a malformed request, the start of the next request is uncertain.
        if error.kind == .invalid || error.kind == .uriTooLong { request.keepAlive = false }
        var response = GatewayResponse(problem: error, requestID: request.requestID)
        if error.kind == .methodNotAllowed, let route = request.route { response.fields.append(("allow", route.allow)) }
        respond(response)
    }

    /// Sends a response of the gateway, with CORS fields unless it `hasCORSFields`.
    func respond(_ response: GatewayResponse, hasCORSFields: Bool = false) {
        detachUpstream()
        // The rest of the body is read if it is small; otherwise the connection closes.
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

    /// Closes the connection to the service, whatever it still sends.
    private func detachUpstream() {
        let upstream = request.upstream
        request.upstream = nil
        upstream?.close()
    }

    private func addTransport(_ fields: inout [(String, String)]) {
        if state.configuration.hstsSeconds > 0, origin.scheme == "https" {
            fields.append(("strict-transport-security", "max-age=\(state.configuration.hstsSeconds)"))
        }
        // HTTP/2 has no `Connection` field, and the end of one request does not affect its connection.
        guard codec != nil else { return }
        if !request.keepAlive {
            fields.append(("connection", "close"))
        } else if request.head.version < .http1_1 {
            fields.append(("connection", "keep-alive"))
        }
    }
}

extension HTTPVersion {
    static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}

extension HTTPResponseStatus {
    var mayHaveLength: Bool { self != .noContent && self != .notModified }
}
