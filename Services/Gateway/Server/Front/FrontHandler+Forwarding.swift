import Metrics
import NIOCore
import NIOHTTP1
import Wire

/// The request on its way to a service.
extension FrontHandler {
    func forward(to service: Int) {
        guard let facts = exchange.facts else { return }
        if facts.wantsWebSocket, codec == nil {
            refuse(Refusal.invalid("upgrade", "a WebSocket is opened over HTTP/1.1"))
            return
        }
        let balancer = loop.balancers[service]
        balancer.begin()
        guard let tag = exchange.session else {
            send(to: balancer.choose(asTunnel: facts.wantsWebSocket))
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
        guard let facts = exchange.facts, let service = exchange.service else { return }
        switch choice {
        case .nobody(let seconds): refuse(Refusal.unavailable(loop.balancers[service].fleet.name, retryAfter: seconds))
        case .pool(let pool):
            // A connection that becomes a tunnel does not come back, so the pool keeps its own.
            // A second try is made over a connection that was not there at the first, as long as one may be opened.
            let mayBeKept = !facts.wantsWebSocket && !(exchange.isRetry && pool.mayConnect)
            if exchange.isHeld, !pool.mayHold {
                refuse(Refusal.unavailable(loop.balancers[service].fleet.name))
            } else if mayBeKept, let upstream = pool.lease() {
                attach(upstream)
            } else if pool.mayConnect {
                connect(pool)
            } else {
                refuse(Refusal.unavailable(loop.balancers[service].fleet.name))
            }
        }
    }

    private func connect(_ pool: UpstreamPool) {
        phase = .deciding
        exchange.connectionAttempts += 1
        loop.counters.upstreamConnections.increment()
        let current = generation
        let began = NIODeadline.now()
        pool.connect { [self] result in
            let isWanted = current == generation && phase == .deciding
            switch result {
            case .success(let upstream) where isWanted: attach(upstream)
            case .success(let upstream): pool.release(upstream)
            case .failure:
                pool.failed(.unanswered, began: began)
                if isWanted { connectElsewhere(than: pool) }
            }
            settle()
        }
    }

    /// Nothing was sent, so any other instance may be asked, whatever the request is, unless only one has what it is about.
    private func connectElsewhere(than pool: UpstreamPool) {
        guard let service = exchange.service, let facts = exchange.facts else { return }
        let balancer = loop.balancers[service]
        exchange.tried.insert(pool)
        let choice = balancer.choose(besides: exchange.tried, asTunnel: facts.wantsWebSocket)
        guard exchange.connectionAttempts < 3, exchange.session == nil, case .pool = choice else {
            refuse(Refusal.unavailable(balancer.fleet.name))
            return
        }
        balancer.retries.connect.increment()
        send(to: choice)
    }

    private func attach(_ upstream: UpstreamHandler) {
        guard let facts = exchange.facts else { return }
        upstream.front = self
        upstream.isHeld = exchange.isHeld
        exchange.upstream = upstream
        if exchange.connectionAttempts > 0 || exchange.isRetry { exchange.attemptBegan = .now() }
        phase = .forwarding
        upstream.pool.sent()
        upstream.send(
            .head(
                facts.head(
                    replacing: exchange.head,
                    target: exchange.target,
                    to: upstream.pool.instance,
                    from: origin,
                    requestID: exchange.requestID,
                    traceparent: exchange.traceparent,
                    keepsCors: exchange.route?.answersCors ?? false
                )
            )
        )
        if exchange.requestEnded {
            // A second try: the first had sent all there is.
            upstream.send(.end(nil))
            return
        }
        takeQueued()
        if facts.expectsContinue, facts.framing.hasBody, !exchange.requestEnded, exchange.requestBytes == 0,
            phase == .forwarding
        {
            write(.head(HTTPResponseHead(version: .http1_1, status: .continue)))
            flush()
        }
    }

    func takeBody(_ bytes: ByteBuffer) {
        exchange.requestBytes += bytes.readableBytes
        switch phase {
        case .forwarding:
            let now = NIODeadline.now()
            if let awaited = exchange.bodyAwaited {
                exchange.bodyCredit = bodyCredit - (now - awaited)
                exchange.bodyAwaited = nil
            }
            exchange.bodyCredit = credit(for: bytes.readableBytes)
            exchange.lastSent = now
            if isTooLarge(exchange.requestBytes) {
                refuse(Refusal.bodyTooLarge)
            } else if exchange.isPadded {
                refuse(Refusal.malformed)
            } else {
                exchange.upstream?.send(.body(.byteBuffer(bytes)))
            }
        default: break
        }
    }

    func takeEnd(_ trailers: HTTPHeaders?) {
        exchange.requestEnded = true
        switch phase {
        case .forwarding:
            if exchange.requestBytes > 0 { exchange.lastSent = .now() }
            exchange.bodyAwaited = nil
            exchange.upstream?.send(.end(RequestFacts.trailers(trailers)))
        case .discarding: next()
        default: break
        }
    }

    /// The service has taken what it got: more of the body may be read.
    func upstreamTakesMore() {
        settle()
    }
}
