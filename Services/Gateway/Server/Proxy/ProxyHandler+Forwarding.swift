import Metrics
import NIOCore
import NIOHTTP1
import Wire

extension ProxyHandler {
    func forward(to service: Int) {
        guard let parsedHead = request.parsedHead else { return }
        if parsedHead.wantsWebSocket, codec == nil {
            refuse(GatewayError.invalid("upgrade", "a WebSocket requires HTTP/1.1"))
            return
        }
        let balancer = loop.balancers[service]
        balancer.countRequest()
        guard let tag = request.session else {
            send(to: balancer.choose(asTunnel: parsedHead.wantsWebSocket))
            return
        }
        if let choice = balancer.choose(tagged: tag) {
            send(to: choice)
        } else {
            loop.counters.unknownSessions.increment()
            respond(.unknownSession)
        }
    }

    func send(to choice: Balancer.Choice) {
        guard let parsedHead = request.parsedHead, let service = request.service else { return }
        switch choice {
        case .noInstance(let seconds):
            refuse(GatewayError.unavailable(loop.balancers[service].cluster.name, retryAfter: seconds))
        case .pool(let pool):
            // A connection that becomes a tunnel does not return to the pool, so it is never taken from the pool. A
            // retry uses a new connection, as long as one may be opened.
            let mayReuse = !parsedHead.wantsWebSocket && !(request.isRetry && pool.mayConnect)
            if request.isLongLived, !pool.mayAddLongLived {
                refuse(GatewayError.unavailable(loop.balancers[service].cluster.name))
            } else if mayReuse, let upstream = pool.lease() {
                attach(upstream)
            } else if pool.mayConnect {
                connect(pool)
            } else {
                refuse(GatewayError.unavailable(loop.balancers[service].cluster.name))
            }
        }
    }

    private func connect(_ pool: UpstreamPool) {
        phase = .preparing
        request.connectionAttempts += 1
        loop.counters.upstreamConnections.increment()
        let current = generation
        let began = NIODeadline.now()
        pool.connect { [self] result in
            let isCurrent = current == generation && phase == .preparing
            switch result {
            case .success(let upstream) where isCurrent: attach(upstream)
            case .success(let upstream): pool.release(upstream)
            case .failure:
                pool.failed(.unanswered, began: began)
                if isCurrent { connectToOtherInstance(after: pool) }
            }
            flushAndRead()
        }
    }

    /// Connects to another instance; nothing was sent, so this is safe for every request without a session.
    private func connectToOtherInstance(after pool: UpstreamPool) {
        guard let service = request.service, let parsedHead = request.parsedHead else { return }
        let balancer = loop.balancers[service]
        request.tried.insert(pool)
        let choice = balancer.choose(excluding: request.tried, asTunnel: parsedHead.wantsWebSocket)
        guard request.connectionAttempts < 3, request.session == nil, case .pool = choice else {
            refuse(GatewayError.unavailable(balancer.cluster.name))
            return
        }
        balancer.retries.connect.increment()
        send(to: choice)
    }

    private func attach(_ upstream: UpstreamHandler) {
        guard let parsedHead = request.parsedHead else { return }
        upstream.proxyHandler = self
        upstream.isLongLived = request.isLongLived
        request.upstream = upstream
        if request.connectionAttempts > 0 || request.isRetry { request.attemptBegan = .now() }
        phase = .forwarding
        upstream.pool.sent()
        upstream.send(
            .head(
                parsedHead.head(
                    replacing: request.head,
                    target: request.target,
                    to: upstream.pool.instance,
                    from: origin,
                    requestID: request.requestID,
                    traceparent: request.traceparent,
                    keepsCORS: request.route?.handlesCORS ?? false
                )
            )
        )
        if request.requestEnded {
            // Only requests without a body are retried, and this one has ended.
            upstream.send(.end(nil))
            return
        }
        processQueue()
        if parsedHead.expectsContinue, parsedHead.framing.hasBody, !request.requestEnded, request.requestBytes == 0,
            phase == .forwarding
        {
            write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
            flush()
        }
    }

    func receiveBody(_ bytes: ByteBuffer) {
        request.requestBytes += bytes.readableBytes
        switch phase {
        case .forwarding:
            let now = NIODeadline.now()
            if let awaited = request.bodyWaitBegan {
                request.bodyCredit = bodyCredit - (now - awaited)
                request.bodyWaitBegan = nil
            }
            request.bodyCredit = credit(for: bytes.readableBytes)
            request.lastRequestActivity = now
            if isTooLarge(request.requestBytes) {
                refuse(APIError.tooLarge(limit: state.configuration.bodyLimit))
            } else if request.isPadded {
                refuse(GatewayError.malformed)
            } else {
                request.upstream?.send(.body(.byteBuffer(bytes)))
            }
        default: break
        }
    }

    func receiveEnd(_ trailers: HTTPHeaders?) {
        request.requestEnded = true
        switch phase {
        case .forwarding:
            if request.requestBytes > 0 { request.lastRequestActivity = .now() }
            request.bodyWaitBegan = nil
            request.upstream?.send(.end(ParsedRequestHead.trailers(trailers)))
        case .discarding: next()
        default: break
        }
    }

    func upstreamBecameWritable() {
        flushAndRead()
    }
}
