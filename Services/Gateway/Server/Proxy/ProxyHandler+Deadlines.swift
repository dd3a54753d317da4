import Metrics
import NIOCore
import Wire

/// Everything waits on something bounded.
extension ProxyHandler {
    /// How long a client may go on sending after it was told good-bye.
    private static let lingerTime = TimeAmount.seconds(2)

    func check(_ now: NIODeadline) {
        let limits = state.configuration
        switch phase {
        case .awaiting: checkHead(now)
        case .preparing where now - request.started > limits.responseTimeout: refuse(GatewayError.lateResponse)
        case .forwarding: checkExchange(now)
        case .discarding where now - phaseSince > limits.bodyTimeout: closeGracefully()
        case .lingering where now - phaseSince > (isOutputClosed ? Self.lingerTime : limits.sendTimeout): close()
        default: break
        }
    }

    /// Since when the connection waits for a request; nil while one is on its way or under way.
    ///
    /// A stream of HTTP/2 is none: its connection is looked at.
    var idleSince: NIODeadline? {
        guard codec != nil, case .awaiting = phase, headBegan == nil, !hasNextRequestBegun else { return nil }
        return phaseSince
    }

    private func checkHead(_ now: NIODeadline) {
        if let headBegan {
            guard now - headBegan > state.configuration.headerTimeout else { return }
            request = .none
            refuse(GatewayError.slowHeaders)
        } else if now - phaseSince > state.configuration.idleTimeout {
            // Nobody asked, so nobody is answered.
            close()
        }
    }

    private func checkExchange(_ now: NIODeadline) {
        let limits = state.configuration
        if let awaited = request.bodyWaitBegan {
            if now - awaited > bodyCredit {
                refuse(GatewayError.slowBody)
                return
            }
        }
        guard request.responseBegan else {
            // A body that goes on is no late answer; one that the service does not take is.
            let isPoll = request.isPoll
            let timeout = isPoll ? max(limits.pollTimeout, limits.responseTimeout) : limits.responseTimeout
            if request.bodyWaitBegan == nil, now - request.lastRequestActivity > timeout {
                // An instance that was asked only towards the end is not to blame, nor one that has no news.
                if !isPoll, now - request.attemptBegan + (now - request.attemptBegan) > limits.responseTimeout {
                    request.upstream?.pool.failed(.unanswered, began: request.attemptBegan)
                }
                refuse(GatewayError.lateResponse)
            } else {
                retryIfInstanceHangs()
            }
            return
        }
        if let stalledSince {
            if now - stalledSince > limits.sendTimeout { close() }
        } else if now - request.lastResponseActivity > limits.streamIdleTimeout {
            close()
        }
    }

    /// How long the client may still keep us waiting for its body: at most `bodyTimeout`, and always that at the start.
    var bodyCredit: TimeAmount { request.bodyCredit ?? state.configuration.bodyTimeout }

    /// The credit after so many bytes more.
    ///
    /// Each byte earns its time at the floor. The credit has a ceiling, so that bytes sent early buy no hours of silence
    /// later, and a body lasts at most `bodyTimeout` and its length at the floor.
    func credit(for bytes: Int) -> TimeAmount {
        let limits = state.configuration
        let earned = TimeAmount.nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(limits.bodyMinRate))
        return min(bodyCredit + earned, limits.bodyTimeout)
    }

    func drain() {
        if phase == .forwarding, request.isPoll, !request.responseBegan {
            // What is held ends no sooner for being waited for; its client comes back through another gateway.
            refuse(GatewayError.stopping)
            return
        }
        if phase == .forwarding, request.isStream, request.responseBegan {
            endStream()
            return
        }
        // A stream's connection says good-bye for it.
        guard phase == .awaiting, codec != nil else { return }
        if headBegan == nil { close() }
    }

    func closeNow() {
        close()
    }
}
