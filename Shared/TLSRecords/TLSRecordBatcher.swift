public import NIOCore

/// Gathers what is written between two flushes, so that an answer of several small pieces is one TLS record and not
/// several, each with its own encryption and overhead.
///
/// It belongs behind the handler of TLS; what is left when the channel is closed is sent before.
public final class TLSRecordBatcher: ChannelOutboundHandler {
    public typealias OutboundIn = ByteBuffer
    public typealias OutboundOut = ByteBuffer

    /// What a record holds; longer pieces fill their own.
    private static let record = 16 * 1_024
    private static let smallest = 512

    /// Whether what is flushed waits for the end of the event loop's turn.
    ///
    /// The streams of a connection of HTTP/2 flush one after another, each for itself: so they share a record, and a
    /// call of the kernel.
    public var gathersTurns = false
    private var isFlushDue = false
    private var gathered = ByteBuffer()
    private var promises: [EventLoopPromise<Void>] = []

    public init() {}

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = Self.unwrapOutboundIn(data)
        guard bytes.readableBytes <= Self.record / 2 else {
            pass(in: context)
            context.write(data, promise: promise)
            return
        }
        if gathered.readableBytes + bytes.readableBytes > Self.record { pass(in: context) }
        if gathered.capacity == 0 {
            gathered = context.channel.allocator.buffer(capacity: max(Self.smallest, bytes.readableBytes))
        }
        gathered.writeBuffer(&bytes)
        if let promise { promises.append(promise) }
        // Nothing was written that could carry the promise.
        if gathered.readableBytes == 0 { pass(in: context) }
    }

    public func flush(context: ChannelHandlerContext) {
        guard gathersTurns else {
            send(in: context)
            return
        }
        guard !isFlushDue else { return }
        isFlushDue = true
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.execute {
            let (filler, context) = bound.value
            if filler.isFlushDue { filler.send(in: context) }
        }
    }

    public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        send(in: context)
        context.close(mode: mode, promise: promise)
    }

    public func handlerRemoved(context: ChannelHandlerContext) {
        isFlushDue = false
        for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
        promises.removeAll()
    }

    private func send(in context: ChannelHandlerContext) {
        isFlushDue = false
        pass(in: context)
        context.flush()
    }

    private func pass(in context: ChannelHandlerContext) {
        guard gathered.readableBytes > 0 || !promises.isEmpty else { return }
        let bytes = gathered
        // A connection that waits for its next request holds no buffer for it.
        gathered = ByteBuffer()
        let waiting = promises
        promises.removeAll()
        guard let first = waiting.first else {
            context.write(Self.wrapOutboundOut(bytes), promise: nil)
            return
        }
        for other in waiting.dropFirst() { first.futureResult.cascade(to: other) }
        context.write(Self.wrapOutboundOut(bytes), promise: first)
    }
}
