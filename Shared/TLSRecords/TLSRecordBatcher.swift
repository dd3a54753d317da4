public import NIOCore

/// A channel handler that combines the writes between two flushes into one TLS record.
///
/// Without it, a response of several small buffers takes several records, each with its own encryption and overhead.
/// Add the handler directly after the TLS handler. Closing the channel sends the remaining bytes first.
public final class TLSRecordBatcher: ChannelOutboundHandler {
    public typealias OutboundIn = ByteBuffer
    public typealias OutboundOut = ByteBuffer

    /// The largest content of a TLS record in bytes; buffers over half of it are passed on without a copy.
    private static let record = 16 * 1_024
    private static let smallest = 512

    /// Whether flushes are deferred to the end of the event loop's turn.
    ///
    /// The default is false.
    ///
    /// The streams of an HTTP/2 connection flush separately. Deferring makes them share a TLS record and a system call.
    public var gathersTurns = false
    private var isFlushDue = false
    private var gathered = ByteBuffer()
    private var promises: [EventLoopPromise<Void>] = []

    /// Creates a handler; each channel needs its own.
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
        // An empty write has no bytes that could carry its promise later.
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
            let (batcher, context) = bound.value
            if batcher.isFlushDue { batcher.send(in: context) }
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
        // An idle connection keeps no buffer.
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
