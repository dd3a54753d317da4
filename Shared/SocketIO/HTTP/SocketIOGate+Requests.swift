import NIOCore
import NIOHTTP1

/// Handling of Socket.IO requests.
extension SocketIOGate {
    func begin(_ head: HTTPRequestHead) {
        setTimeout(core.configuration.limits.requestTimeout)
        let action = action(for: head)
        let limit = if case .post(let connection) = action { connection.maxPayload } else { 0 }
        phase = .receiving(Incoming(head: head, limit: limit, action: action))
        let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        if length > limit {
            tooLarge(head)
        } else if !reserve(length) {
            refuse(.serviceUnavailable, head)
        }
    }

    /// Reserves memory for a large message; false if there is none.
    private func reserve(_ length: Int) -> Bool {
        guard length > PayloadLedger.small, case .receiving(var incoming) = phase else { return true }
        let lease = incoming.lease ?? PayloadLease(core.payloads)
        guard lease.cover(length) else { return false }
        phase = .idle
        incoming.lease = lease
        phase = .receiving(incoming)
        return true
    }

    func receive(_ bytes: ByteBuffer) {
        guard case .receiving(var incoming) = phase else { return }
        let length = incoming.body.readableBytes + bytes.readableBytes
        guard length <= incoming.limit else { return tooLarge(incoming.head) }
        guard reserve(length) else { return refuse(.serviceUnavailable, incoming.head) }
        // The phase must not hold a reference to the body while it grows, else each part would copy it.
        phase = .idle
        incoming.body.writeImmutableBuffer(bytes)
        phase = .receiving(incoming)
    }

    private func tooLarge(_ head: HTTPRequestHead) {
        guard case .receiving(let incoming) = phase else { return }
        if case .respond(var response) = incoming.action {
            phase = .discarding
            response.isLast = true
            respond(response, to: head)
        } else if case .post = incoming.action {
            refuse(.payloadTooLarge, head)
        } else {
            phase = .discarding
            respond(EngineResponse.refusedUpgrade(.badRequest), to: head)
        }
    }

    /// Refuses a request, but reads its body to the end, else the client might not receive the response.
    private func refuse(_ status: HTTPResponseStatus, _ head: HTTPRequestHead) {
        phase = .discarding
        respond(.status(status, isLast: true), to: head)
    }

    private func action(for head: HTTPRequestHead) -> Action {
        if head.method == .OPTIONS { return .preflight }
        do throws(EngineError) {
            let request = try EngineRequest(head, configuration: core.configuration)
            guard origins.allow(head) else { throw .forbidden }
            return try action(for: request)
        } catch {
            let isUpgrade = WebSocketHandshake.isRequested(head)
            return .respond(isUpgrade ? .refusedUpgrade(error) : .error(error))
        }
    }

    private func action(for request: EngineRequest) throws(EngineError) -> Action {
        guard let session = request.session else {
            let address = context?.channel.remoteAddress
            guard core.configuration.allowRequest(request.head, address) else { throw .forbidden }
            return request.isWebSocket ? .webSocket(request, nil) : .open(request)
        }
        guard let connection = core.connection(session) else { throw .unknownSession }
        if request.isWebSocket {
            guard WebSocketHandshake.isRequested(request.head) else { throw .badRequest }
            return .webSocket(request, connection)
        }
        switch request.head.method {
        case .GET: return .poll(connection)
        case .POST: return .post(connection)
        default: throw .badRequest
        }
    }

    func perform(_ incoming: Incoming) {
        phase = .idle
        switch incoming.action {
        case .respond(let response):
            respond(response, to: incoming.head)
        case .preflight:
            var fields = HTTPHeaders()
            origins.addPreflightFields(to: &fields, for: incoming.head)
            respond(EngineResponse(status: .noContent, body: ByteBuffer()), to: incoming.head, adding: fields)
        case .open(let request):
            open(request)
        case .poll(let connection):
            wait(incoming, for: connection) { $0.poll($1) }
        case .post(let connection):
            let type = incoming.head.headers.first(name: "content-type") ?? ""
            let isBinary = type.lowercased().hasPrefix("application/octet-stream")
            let (body, lease) = (incoming.body, incoming.lease)
            wait(incoming, for: connection) { $0.post($1, body, lease, isBinary: isBinary) }
        case .webSocket(let request, let connection):
            becomeWebSocket(request, connection)
        }
    }

    private func wait(
        _ incoming: Incoming,
        for connection: EngineConnection,
        _ body: @escaping @Sendable (EngineConnection, PendingRequest) -> Void
    ) {
        guard let context else { return }
        let exchange = PendingRequest(eventLoop: context.eventLoop, gate: self)
        phase = .waiting(exchange, connection, incoming.head)
        connection.loop.perform { body(connection, exchange) }
    }

    private func open(_ request: EngineRequest) {
        guard let context else { return }
        let connection = makeConnection(request, context)
        if let refusal = core.add(connection) { return respond(.status(refusal), to: request.head) }
        let exchange = PendingRequest(eventLoop: context.eventLoop, gate: self)
        phase = .waiting(exchange, connection, request.head)
        connection.polling?.poll = exchange
        connection.loop.perform { connection.start() }
    }

    private func makeConnection(_ request: EngineRequest, _ context: ChannelHandlerContext) -> EngineConnection {
        EngineConnection(
            core: core,
            loop: core.loop(for: context.eventLoop),
            handler: handler,
            request: request,
            remoteAddress: context.channel.remoteAddress
        )
    }

    // MARK: WebSockets

    private func becomeWebSocket(_ request: EngineRequest, _ existing: EngineConnection?) {
        guard let context else { return }
        guard let fields = WebSocketHandshake.responseFields(request.head) else {
            var response = EngineResponse.refusedUpgrade(.badRequest)
            let isOtherVersion = request.head.headers["sec-websocket-version"] != ["13"]
            if isOtherVersion { response.status = .upgradeRequired }
            return respond(response, to: request.head, adding: isOtherVersion ? ["Sec-WebSocket-Version": "13"] : [:])
        }
        let connection = existing ?? makeConnection(request, context)
        if existing == nil, let refusal = core.add(connection) {
            return respond(.status(refusal, isLast: true), to: request.head)
        }
        let webSocket = WebSocketHandler(connection: connection, eventLoop: context.eventLoop)
        do {
            try change(context, to: webSocket, fields)
        } catch {
            context.close(promise: nil)
            if existing == nil { connection.forget() }
            return
        }
        if existing == nil {
            connection.webSocket = webSocket
            connection.loop.perform { connection.start() }
        } else {
            // A second WebSocket of a session is closed; the session continues.
            connection.loop.perform { if !connection.beginProbe(webSocket) { webSocket.finish() } }
        }
    }

    /// Sends status 101 and replaces the HTTP handlers of the pipeline.
    private func change(
        _ context: ChannelHandlerContext,
        to webSocket: WebSocketHandler,
        _ fields: HTTPHeaders
    ) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        becameWebSocket()
        let pipeline = context.pipeline.syncOperations
        try pipeline.addHandler(webSocket, position: .after(self))
        HTTPHandlers.remove(from: pipeline)
    }
}
