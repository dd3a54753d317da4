import NIOCore
import NIOHTTP1

/// The end of a response: the next request, or the end of the connection.
extension ProxyHandler {
    func writeEnd(_ trailers: HTTPHeaders?) {
        guard codec == nil, !request.requestEnded, let context else {
            write(.end(trailers))
            return
        }
        // The client may stop sending its request once the whole response has been sent. An earlier RST_STREAM would
        // discard data that was not sent yet.
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess { [self] in
            self.context?.triggerUserOutboundEvent(StreamCodec.StopSending.stopSending, promise: nil)
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
        // An idle connection keeps nothing of the previous request.
        request = .none
        phaseSince = request.started
        guard !hasPendingError else {
            refuse(GatewayError.malformed)
            return
        }
        processQueue()
        flushAndRead()
    }

    /// Closes the sending side, and drops incoming data for a moment.
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

    /// Drops incoming data; an HTTP/2 stream ends when both sides have ended.
    private func linger() {
        phase = .lingering
        phaseSince = .now()
        queue.removeAll()
        flushAndRead()
    }
}
