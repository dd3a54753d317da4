import NIOCore
import NIOHTTP1

/// What follows when an answer has gone out: the next request, or good-bye.
extension ProxyHandler {
    func writeEnd(_ trailers: HTTPHeaders?) {
        guard codec == nil, !request.requestEnded, let context else {
            write(.end(trailers))
            return
        }
        // Once all of the answer has gone out, the client may keep the rest of its request to itself; not earlier, since
        // that takes back what was not sent.
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess { [self] in
            self.context?.triggerUserOutboundEvent(StreamCodec.Enough.enough, promise: nil)
        }
        write(.end(trailers), promise: sent)
    }

    func finish() {
        flush()
        finishLog()
        guard codec != nil else {
            linger()
            return
        }
        if request.requestEnded {
            next()
        } else if request.keepAlive {
            phase = .discarding
            phaseSince = .now()
            processQueue()
        } else {
            closeGracefully()
        }
    }

    /// Goes on to the next request, if there may be one.
    func next() {
        guard request.keepAlive, !loop.isDraining else {
            closeGracefully()
            return
        }
        if request.parsedHead?.hasUpgrade ?? false, let codec, let context {
            phase = .changing
            codec.renew(in: context.channel) { [self] isDone in
                guard phase == .changing, isDone else { return }
                awaitNext()
                if let bytes = leftover {
                    leftover = nil
                    codec.feed(bytes)
                }
            }
            return
        }
        awaitNext()
    }

    private func awaitNext() {
        phase = .awaiting
        // A connection that only waits holds nothing of the request before.
        request = .none
        phaseSince = request.started
        guard !hasPendingError else {
            refuse(GatewayError.malformed)
            return
        }
        processQueue()
        flushAndRead()
    }

    /// Says good-bye: nothing more is sent, and what still comes is dropped for a moment.
    func closeGracefully() {
        linger()
        guard codec != nil, let context else { return }
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in
            isOutputClosed = true
            phaseSince = .now()
        }
        context.close(mode: .output, promise: promise)
    }

    /// Drops what still comes; a stream then ends by itself, when both sides have ended.
    private func linger() {
        phase = .lingering
        phaseSince = .now()
        queue.removeAll()
        flushAndRead()
    }
}
