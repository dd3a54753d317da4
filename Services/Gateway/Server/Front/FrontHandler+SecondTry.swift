import Foundation
import Metrics
import NIOCore
import NIOHTTP1

/// What becomes of a request that its instance leaves without a good answer.
///
/// It is sent again, once, if that is safe and within the service's budget: to another instance, and to the same one only
/// where a kept connection was closed under it, which says nothing against the instance.
extension FrontHandler {
    /// The connection to the service is gone.
    func upstreamClosed(_ upstream: UpstreamHandler) {
        guard exchange.upstream === upstream, let service = exchange.service else { return }
        exchange.upstream = nil
        upstream.pool.failed(.unanswered, began: exchange.attemptBegan)
        if exchange.answerBegan {
            // The answer is not whole, and must not look so.
            reset()
        } else if !tryAgain(besides: upstream.pool, orThere: upstream.isUsed, loop.balancers[service].retries.broken) {
            refuse(Refusal.brokenAnswer)
        }
        settle()
    }

    /// Whether an answer that says that the service cannot do it now is left aside, for another instance's.
    func isPassedOver(_ status: HTTPResponseStatus, from upstream: UpstreamHandler) -> Bool {
        guard let service = exchange.service else { return false }
        guard (502...504).contains(status.code) else {
            upstream.pool.health.succeeded(began: exchange.attemptBegan, now: .now())
            return false
        }
        upstream.pool.failed(.refusal, began: exchange.attemptBegan)
        return tryAgain(besides: upstream.pool, orThere: false, loop.balancers[service].retries.refused)
    }

    /// Sends a request elsewhere that waits for an instance which was found to answer nobody.
    func leaveHangingInstance() {
        let began = exchange.attemptBegan
        guard let upstream = exchange.upstream, let service = exchange.service, exchange.requestEnded,
            !upstream.pool.health.isServing, !upstream.pool.health.isAnswering
        else { return }
        guard exchange.session == nil else {
            // It has gone with the instance, and whoever waits for it is better told.
            refuse(Refusal.unavailable(loop.balancers[service].fleet.name))
            return
        }
        guard tryAgain(besides: upstream.pool, orThere: false, loop.balancers[service].retries.hanging) else { return }
        upstream.pool.failed(.unanswered, began: began)
    }

    /// Sends the request again if that may be; says whether.
    private func tryAgain(besides pool: UpstreamPool, orThere isThereGood: Bool, _ counter: Counter) -> Bool {
        guard exchange.isSafeToRepeat, let service = exchange.service, let facts = exchange.facts else { return false }
        let balancer = loop.balancers[service]
        var tried = exchange.tried
        tried.insert(pool)
        var choice = balancer.choose(besides: tried, asTunnel: facts.wantsWebSocket)
        if case .nobody = choice, isThereGood { choice = balancer.choose(asTunnel: facts.wantsWebSocket) }
        guard case .pool = choice, balancer.mayRetry() else { return false }
        let left = exchange.upstream
        exchange.upstream = nil
        left?.close()
        counter.increment()
        exchange.tried = tried
        exchange.isRetry = true
        send(to: choice)
        settle()
        return true
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
