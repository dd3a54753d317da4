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
            let wait = exchange.bodyWait + (now - awaited)
            let earned = TimeAmount.milliseconds(Int64(exchange.requestBytes * 1_000 / limits.bodyFloor))
            if now - awaited > limits.bodyTimeout || wait > limits.bodyTimeout + earned {
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
