import Metrics
import NIOCore
import Wire

extension ProxyHandler {
    /// How long a client may continue to send after the gateway has closed its side.
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

    /// The time since which the connection waits for a request; nil during a request.
    ///
    /// It is nil on an HTTP/2 stream, because `HTTP2Connection` checks the idle time.
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
            close()
        }
    }

    private func checkExchange(_ now: NIODeadline) {
        let limits = state.configuration
        if let awaited = request.bodyWaitBegan {
            if now - awaited > bodyCredit {
                refuse(GatewayError.slowBody(minimumRate: limits.bodyMinRate))
                return
            }
        }
        guard request.responseBegan else {
            // A body that makes progress is not a late response; a body that the service does not accept is.
            let isPoll = request.isPoll
            let timeout = isPoll ? max(limits.pollTimeout, limits.responseTimeout) : limits.responseTimeout
            if request.bodyWaitBegan == nil, now - request.lastRequestActivity > timeout {
                // An instance that received the request near the end of the time limit has not failed, nor has one
                // without events.
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

    /// The remaining time that the client may delay its body, at most and initially `bodyTimeout`.
    var bodyCredit: TimeAmount { request.bodyCredit ?? state.configuration.bodyTimeout }

    /// Returns the credit after `bytes` more.
    ///
    /// Each byte earns its time at `bodyMinRate`. The credit has a maximum, so bytes that arrived early do not allow
    /// hours of silence later. A body lasts at most `bodyTimeout` plus the time of its length at `bodyMinRate`.
    func credit(for bytes: Int) -> TimeAmount {
        let limits = state.configuration
        let earned = TimeAmount.nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(limits.bodyMinRate))
        return min(bodyCredit + earned, limits.bodyTimeout)
    }

    func drain() {
        if phase == .forwarding, request.isPoll, !request.responseBegan {
            // Waiting would not end a held poll sooner; the client reconnects through another gateway.
            refuse(GatewayError.stopping)
            return
        }
        if phase == .forwarding, request.isStream, request.responseBegan {
            endStream()
            return
        }
        // The HTTP/2 connection announces the shutdown for its streams.
        guard phase == .awaiting, codec != nil else { return }
        if headBegan == nil { close() }
    }

    func closeNow() {
        close()
    }
}
