import Metrics
import NIOCore
import Wire

/// Everything waits on something bounded.
extension FrontHandler {
    /// How long a client may go on sending after it was told good-bye.
    private static let farewell = TimeAmount.seconds(2)

    func check(_ now: NIODeadline) {
        let limits = edge.configuration
        switch phase {
        case .awaiting: checkHead(now)
        case .deciding where now - exchange.started > limits.answerTimeout: refuse(Refusal.lateAnswer)
        case .forwarding: checkExchange(now)
        case .discarding where now - phaseSince > limits.bodyTimeout: windDown()
        case .lingering where now - phaseSince > (isOutputClosed ? Self.farewell : limits.sendTimeout): close()
        default: break
        }
    }

    /// Since when the connection waits for a request; nil while one is on its way or under way.
    ///
    /// A stream of HTTP/2 is none: its connection is looked at.
    var idleSince: NIODeadline? {
        guard codec != nil, case .awaiting = phase, headBegan == nil, !hasNextBegun else { return nil }
        return phaseSince
    }

    private func checkHead(_ now: NIODeadline) {
        if let headBegan {
            guard now - headBegan > edge.configuration.headerTimeout else { return }
            exchange = .none
            refuse(Refusal.slowHeaders)
        } else if now - phaseSince > edge.configuration.idleTimeout {
            // Nobody asked, so nobody is answered.
            close()
        }
    }

    private func checkExchange(_ now: NIODeadline) {
        let limits = edge.configuration
        if let awaited = exchange.bodyAwaited {
            if now - awaited > bodyCredit {
                refuse(Refusal.slowBody)
                return
            }
        }
        guard exchange.answerBegan else {
            // A body that goes on is no late answer; one that the service does not take is.
            let isPoll = exchange.isPoll
            let patience = isPoll ? max(limits.pollTimeout, limits.answerTimeout) : limits.answerTimeout
            if exchange.bodyAwaited == nil, now - exchange.lastSent > patience {
                // An instance that was asked only towards the end is not to blame, nor one that has no news.
                if !isPoll, now - exchange.attemptBegan + (now - exchange.attemptBegan) > limits.answerTimeout {
                    exchange.upstream?.pool.failed(.unanswered, began: exchange.attemptBegan)
                }
                refuse(Refusal.lateAnswer)
            } else {
                leaveHangingInstance()
            }
            return
        }
        if let stalled {
            if now - stalled > limits.sendTimeout { close() }
        } else if now - exchange.lastAnswered > limits.silenceTimeout {
            close()
        }
    }

    /// How long the client may still keep us waiting for its body: at most `bodyTimeout`, and always that at the start.
    var bodyCredit: TimeAmount { exchange.bodyCredit ?? edge.configuration.bodyTimeout }

    /// The credit after so many bytes more.
    ///
    /// Each byte earns its time at the floor. The credit has a ceiling, so that bytes sent early buy no hours of silence
    /// later, and a body lasts at most `bodyTimeout` and its length at the floor.
    func credit(for bytes: Int) -> TimeAmount {
        let limits = edge.configuration
        let earned = TimeAmount.nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(limits.bodyFloor))
        return min(bodyCredit + earned, limits.bodyTimeout)
    }

    func drain() {
        if phase == .forwarding, exchange.isPoll, !exchange.answerBegan {
            // What is held ends no sooner for being waited for; its client comes back through another gateway.
            refuse(Refusal.stopping)
            return
        }
        if phase == .forwarding, exchange.isStream, exchange.answerBegan {
            endStream()
            return
        }
        // A stream's connection says good-bye for it.
        guard phase == .awaiting, codec != nil else { return }
        if headBegan == nil { close() }
    }

    func cutOff() {
        close()
    }
}
