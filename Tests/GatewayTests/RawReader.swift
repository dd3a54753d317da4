import NIOCore

/// Reads from a connection only on request, one piece at a time.
final class RawReader: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private struct State {
        var context: ChannelHandlerContext?
        var pieces = CircularBuffer<ByteBuffer>()
        var waiting: EventLoopPromise<ByteBuffer?>?
        /// Fails the waiting read.
        var timer: Scheduled<Void>?
        var hasEnded = false
    }

    /// Longer than any test takes, so that a test fails rather than waits forever.
    private static let timeout = TimeAmount.minutes(2)

    private let state: NIOLoopBoundBox<State>

    init(eventLoop: any EventLoop) {
        state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
    }

    /// The next piece, nil at the end; called on the channel's event loop.
    func next(on eventLoop: any EventLoop) -> EventLoopFuture<ByteBuffer?> {
        if let piece = state.value.pieces.popFirst() { return eventLoop.makeSucceededFuture(piece) }
        if state.value.hasEnded { return eventLoop.makeSucceededFuture(nil) }
        let promise = eventLoop.makePromise(of: ByteBuffer?.self)
        state.value.waiting = promise
        state.value.timer = eventLoop.assumeIsolated().scheduleTask(in: Self.timeout) {
            self.state.value.waiting = nil
            promise.fail(WireError("nothing came for two minutes"))
        }
        state.value.context?.read()
        return promise.futureResult
    }

    /// Completes the waiting read; returns false if there is none.
    private func deliver(_ piece: ByteBuffer?) -> Bool {
        guard let waiting = state.value.waiting else { return false }
        state.value.waiting = nil
        state.value.timer?.cancel()
        waiting.succeed(piece)
        return true
    }

    func handlerAdded(context: ChannelHandlerContext) {
        state.value.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        state.value.context = nil
        end()
    }

    func channelActive(context: ChannelHandlerContext) {
        // A read may have been requested before the channel was active.
        if state.value.waiting != nil { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let piece = Self.unwrapInboundIn(data)
        if !deliver(piece) { state.value.pieces.append(piece) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent { end() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func end() {
        state.value.hasEnded = true
        _ = deliver(nil)
    }
}
