import NIOCore

/// Makes one piece of what is written between two flushes.
///
/// TLS makes a record of every piece, with its own encryption; the frames of a hundred requests, each of three pieces, fit
/// into a few.
final class FrameGatherer: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What a TLS record holds.
    private static let record = 16 * 1_024
    private var gathered = ByteBuffer()
    private var promises: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = Self.unwrapOutboundIn(data)
        if gathered.readableBytes + bytes.readableBytes > Self.record { pass(in: context) }
        if gathered.capacity == 0 { gathered = context.channel.allocator.buffer(capacity: 2_048) }
        gathered.writeBuffer(&bytes)
        if let promise { promises.append(promise) }
    }

    func flush(context: ChannelHandlerContext) {
        pass(in: context)
        context.flush()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        flush(context: context)
        context.close(mode: mode, promise: promise)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
        promises.removeAll()
    }

    private func pass(in context: ChannelHandlerContext) {
        guard gathered.readableBytes > 0 || !promises.isEmpty else { return }
        let bytes = gathered
        // A connection that is idle holds no buffer.
        gathered = ByteBuffer()
        let waiting = promises
        promises.removeAll()
        guard let first = waiting.first else { return context.write(Self.wrapOutboundOut(bytes), promise: nil) }
        for other in waiting.dropFirst() { first.futureResult.cascade(to: other) }
        context.write(Self.wrapOutboundOut(bytes), promise: first)
    }
}
