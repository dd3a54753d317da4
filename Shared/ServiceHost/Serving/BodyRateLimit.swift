import NIOCore
import NIOHTTPTypes

/// Closes the connection of a client that sends a request's body too slowly.
///
/// The gateway rejects slow bodies earlier, with an answer (`BODY_TIMEOUT`, `BODY_MIN_RATE`). This is for clients that reach
/// the service's own port.
final class BodyRateLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    /// How long any body may take.
    static let grace = TimeAmount.seconds(60)
    /// Bytes that pay for one second more.
    private static let bytesPerSecond = 128

    private let grace: TimeAmount
    /// When the head of the request whose body is being received arrived; nil between requests.
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
            // One timer serves all requests that the connection brings meanwhile.
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
