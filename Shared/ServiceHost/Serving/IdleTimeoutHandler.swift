import NIOCore

/// A handler that closes a connection without traffic in either direction.
///
/// It uses one timer, which traffic does not reschedule.
final class IdleTimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = Any
    typealias InboundOut = Any
    typealias OutboundIn = Any
    typealias OutboundOut = Any

    static let name = "idle timeout"

    private let limit: TimeAmount
    private var lastActivity = NIODeadline.now()
    private var timer: Scheduled<Void>?

    init(_ limit: TimeAmount) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        schedule(in: limit, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastActivity = .now()
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        lastActivity = .now()
        context.write(data, promise: promise)
    }

    private func schedule(in time: TimeAmount, _ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            let rest = lastActivity + limit - .now()
            if rest > .zero { schedule(in: rest, context) } else { context.close(promise: nil) }
        }
    }
}
