import NIOCore

/// Gathers what is written between two flushes, so that many small frames are one TLS record and not each its own.
final class FrameGatherer: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let record = 16 * 1_024

    private var gathered = ByteBuffer()

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = Self.unwrapOutboundIn(data)
        guard promise == nil, bytes.readableBytes < Self.record else {
            pass(in: context)
            context.write(data, promise: promise)
            return
        }
        if gathered.readableBytes + bytes.readableBytes > Self.record { pass(in: context) }
        if gathered.capacity == 0 { gathered = context.channel.allocator.buffer(capacity: 1_024) }
        gathered.writeBuffer(&bytes)
    }

    func flush(context: ChannelHandlerContext) {
        pass(in: context)
        context.flush()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        pass(in: context)
        context.close(mode: mode, promise: promise)
    }

    private func pass(in context: ChannelHandlerContext) {
        guard gathered.readableBytes > 0 else { return }
        let bytes = gathered
        // An idle connection holds no buffer.
        gathered = ByteBuffer()
        context.write(Self.wrapOutboundOut(bytes), promise: nil)
    }
}
