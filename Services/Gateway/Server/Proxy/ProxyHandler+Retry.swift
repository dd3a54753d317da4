import Foundation
import Metrics
import NIOCore
import NIOHTTP1

/// Retries of requests whose instance gave no usable response.
///
/// A request is retried once, if that is safe and within the service's retry budget. It goes to another instance. The
/// same instance is used only when it closed a reused connection, which is not a sign of failure.
extension ProxyHandler {
    func upstreamClosed(_ upstream: UpstreamHandler) {
        guard request.upstream === upstream, let service = request.service else { return }
        request.upstream = nil
        upstream.pool.failed(.unanswered, began: request.attemptBegan)
        if request.responseBegan {
            // The response is incomplete and must not look complete.
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

    /// Records the status, and returns whether a 502, 503 or 504 response is discarded in favour of another instance.
    func isRetriedElsewhere(_ status: HTTPResponseStatus, from upstream: UpstreamHandler) -> Bool {
        guard let service = request.service else { return false }
        guard (502...504).contains(status.code) else {
            upstream.pool.health.succeeded(began: request.attemptBegan, now: .now())
            return false
        }
        upstream.pool.failed(.errorStatus, began: request.attemptBegan)
        return retry(excluding: upstream.pool, orSameInstance: false, loop.balancers[service].retries.refused)
    }

    /// Retries a request whose instance has stopped responding.
    func retryIfInstanceHangs() {
        let began = request.attemptBegan
        guard let upstream = request.upstream, let service = request.service, request.requestEnded,
            !upstream.pool.health.isHealthy, !upstream.pool.health.isResponding
        else { return }
        guard request.session == nil else {
            // The session was lost with its instance, so the client receives the error early.
            refuse(GatewayError.unavailable(loop.balancers[service].cluster.name))
            return
        }
        guard retry(excluding: upstream.pool, orSameInstance: false, loop.balancers[service].retries.hanging) else {
            return
        }
        upstream.pool.failed(.unanswered, began: began)
    }

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

    /// Closes the connection so that the client sees an incomplete response, even where only the connection's end marks
    /// it.
    private func reset() {
        finishLog()
        if request.framing == .close {
            let abrupt = linger(l_onoff: 1, l_linger: 0)
            _ = (context?.channel as? any SocketOptionProvider)?.setSoLinger(abrupt)
        }
        close()
    }
}
