import NIOCore

/// Hands over what a connection brings, a piece each time one is asked for; reads nothing unasked.
final class RawReader: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private struct State {
        var context: ChannelHandlerContext?
        var pieces = CircularBuffer<ByteBuffer>()
        var waiting: EventLoopPromise<ByteBuffer?>?
        /// Ends the waiting.
        var timer: Scheduled<Void>?
        var hasEnded = false
    }

    /// Longer than any test takes: nothing comes any more, and the test is to say so rather than wait for ever.
    private static let timeout = TimeAmount.minutes(2)

    private let state: NIOLoopBoundBox<State>

    init(eventLoop: any EventLoop) {
        state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
    }

    /// The next piece, nil at the end; on the channel's loop.
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

    /// Gives who waits what he waits for; false where nobody does.
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
        // Somebody may have asked before there was a connection to ask.
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
