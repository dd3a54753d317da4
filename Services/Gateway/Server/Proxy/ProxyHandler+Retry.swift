import Foundation
import Metrics
import NIOCore
import NIOHTTP1

/// What becomes of a request that its instance leaves without a good answer.
///
/// It is sent again, once, if that is safe and within the service's budget: to another instance, and to the same one only
/// where a kept connection was closed under it, which says nothing against the instance.
extension ProxyHandler {
    /// The connection to the service is gone.
    func upstreamClosed(_ upstream: UpstreamHandler) {
        guard request.upstream === upstream, let service = request.service else { return }
        request.upstream = nil
        upstream.pool.failed(.unanswered, began: request.attemptBegan)
        if request.responseBegan {
            // The answer is not whole, and must not look so.
            reset()
        } else if !retry(
            excluding: upstream.pool,
            orSameInstance: upstream.isUsed,
            loop.balancers[service].retries.broken
        ) {
            refuse(GatewayError.brokenResponse)
        }
        flushAndRead()
    }

    /// Whether an answer that says that the service cannot do it now is left aside, for another instance's.
    func isRetriedElsewhere(_ status: HTTPResponseStatus, from upstream: UpstreamHandler) -> Bool {
        guard let service = request.service else { return false }
        guard (502...504).contains(status.code) else {
            upstream.pool.health.succeeded(began: request.attemptBegan, now: .now())
            return false
        }
        upstream.pool.failed(.errorStatus, began: request.attemptBegan)
        return retry(excluding: upstream.pool, orSameInstance: false, loop.balancers[service].retries.refused)
    }

    /// Sends a request elsewhere that waits for an instance which was found to answer nobody.
    func retryIfInstanceHangs() {
        let began = request.attemptBegan
        guard let upstream = request.upstream, let service = request.service, request.requestEnded,
            !upstream.pool.health.isHealthy, !upstream.pool.health.isResponding
        else { return }
        guard request.session == nil else {
            // It has gone with the instance, and whoever waits for it is better told.
            refuse(GatewayError.unavailable(loop.balancers[service].cluster.name))
            return
        }
        guard retry(excluding: upstream.pool, orSameInstance: false, loop.balancers[service].retries.hanging) else {
            return
        }
        upstream.pool.failed(.unanswered, began: began)
    }

    /// Sends the request again if that may be; says whether.
    private func retry(
        excluding pool: UpstreamPool,
        orSameInstance allowsSameInstance: Bool,
        _ counter: Counter
    ) -> Bool {
        guard request.isRetryable, let service = request.service, let parsedHead = request.parsedHead else {
            return false
        }
        let balancer = loop.balancers[service]
        var tried = request.tried
        tried.insert(pool)
        var choice = balancer.choose(excluding: tried, asTunnel: parsedHead.wantsWebSocket)
        if case .noInstance = choice, allowsSameInstance {
            choice = balancer.choose(asTunnel: parsedHead.wantsWebSocket)
        }
        guard case .pool = choice, balancer.mayRetry() else { return false }
        let left = request.upstream
        request.upstream = nil
        left?.close()
        counter.increment()
        request.tried = tried
        request.isRetry = true
        send(to: choice)
        flushAndRead()
        return true
    }

    /// Closes so that the client takes what it got for broken off, even where only the end of the connection ends it.
    private func reset() {
        finishLog()
        if request.framing == .close {
            let abrupt = linger(l_onoff: 1, l_linger: 0)
            _ = (context?.channel as? any SocketOptionProvider)?.setSoLinger(abrupt)
        }
        close()
    }
}
