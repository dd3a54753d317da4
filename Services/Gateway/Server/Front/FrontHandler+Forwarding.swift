import Foundation
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
        let pool = loop.pool(of: service)
        // A connection that becomes a tunnel does not come back, so the pool keeps its own.
        if !facts.wantsWebSocket, !exchange.isRetry, let upstream = pool.lease() {
            attach(upstream)
        } else if pool.isFull {
            refuse(Refusal.unavailable(edge.configuration.services[service].name))
        } else {
            connect(pool, service: service)
        }
    }

    private func connect(_ pool: UpstreamPool, service: Int) {
        phase = .deciding
        exchange.connectionAttempts += 1
        loop.counters.upstreamConnections.increment()
        let current = generation
        pool.connect { [self] result in
            let isWanted = current == generation && phase == .deciding
            switch result {
            case .success(let upstream) where isWanted: attach(upstream)
            case .success(let upstream): pool.release(upstream)
            case .failure where isWanted:
                loop.counters.upstreamFailures.increment()
                // Nothing was sent, so any other instance may be asked.
                if exchange.connectionAttempts < min(loop.pools[service].count, 3) {
                    connect(loop.pool(of: service), service: service)
                } else {
                    refuse(Refusal.unavailable(edge.configuration.services[service].name))
                }
            case .failure: break
            }
            settle()
        }
    }

    private func attach(_ upstream: UpstreamHandler) {
        guard let facts = exchange.facts else { return }
        upstream.front = self
        exchange.upstream = upstream
        phase = .forwarding
        upstream.pool.retries.earn()
        upstream.send(
            .head(
                facts.head(
                    replacing: exchange.head,
                    to: upstream.pool.instance,
                    from: origin,
                    requestID: exchange.requestID,
                    traceparent: exchange.traceparent
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
                exchange.bodyWait = exchange.bodyWait + (now - awaited)
                exchange.bodyAwaited = nil
            }
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

    /// The connection to the service is gone.
    func upstreamClosed(_ upstream: UpstreamHandler) {
        guard exchange.upstream === upstream, let service = exchange.service else { return }
        exchange.upstream = nil
        if exchange.answerBegan {
            // The answer is not whole, and must not look so.
            reset()
        } else if upstream.isUsed, exchange.isSafeToRepeat, upstream.pool.retries.spend() {
            loop.counters.retries.increment()
            exchange.isRetry = true
            forward(to: service)
        } else {
            loop.counters.upstreamFailures.increment()
            refuse(Refusal.brokenAnswer)
        }
        settle()
    }

    /// Closes so that the client takes what it got for broken off, even where only the end of the connection ends it.
    private func reset() {
        finishLog()
        if exchange.framing == .close {
            let abrupt = linger(l_onoff: 1, l_linger: 0)
            _ = (context?.channel as? any SocketOptionProvider)?.setSoLinger(abrupt)
        }
        close()
    }
}
