import NIOCore
import NIOHTTPTypes

/// A handler that closes the connection of a client that sends a request's body too slowly.
///
/// The gateway rejects slow bodies earlier and with a response. This handler protects the service's own port.
final class BodyRateLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// The time that every body may take.
    static let grace = TimeAmount.seconds(60)
    /// The number of bytes that extend the time by one second.
    private static let bytesPerSecond = 128

    private let grace: TimeAmount
    /// The arrival of the current request's head; nil between requests.
    private var began: NIODeadline?
    private var received = 0
    private var timer: Scheduled<Void>?

    init(grace: TimeAmount) {
        self.grace = grace
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head:
            began = .now()
            received = 0
            // One timer serves all requests that arrive on the connection before it fires.
            if timer == nil { schedule(in: grace, context) }
        case .body(let bytes): received += bytes.readableBytes
        case .end: began = nil
        }
        context.fireChannelRead(data)
    }

    private func schedule(in time: TimeAmount, _ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            timer = nil
            guard let began else { return }
            let end = began + grace + TimeAmount.seconds(Int64(received / Self.bytesPerSecond))
            let rest = end - .now()
            if rest > .zero { schedule(in: rest, context) } else { context.close(promise: nil) }
        }
    }

    private func cancel() {
        timer?.cancel()
        timer = nil
    }
}
