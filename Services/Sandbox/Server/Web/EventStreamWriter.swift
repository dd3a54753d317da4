import NIOCore
import NIOHTTP1
import NIOWebSocket

/// A stream of events for one client.
struct EventStream: Sendable {
    let headers: HTTPHeaders
    let opening: String
    /// The text that keeps an idle stream alive, sent every 15 seconds.
    let heartbeat: String
    /// Subscribes to events, calls `send` for each, and returns a function that ends the subscription.
    let follow: @Sendable (_ send: @escaping @Sendable (String) -> Void) -> @Sendable () -> Void
}

/// Sends server-sent events or a similar format over one connection until it ends.
final class EventStreamWriter {
    private var end: (@Sendable () -> Void)?
    private var timer: RepeatedTask?

    init(_ events: EventStream, in context: ChannelHandlerContext) {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: events.headers)
        context.write(WebHandler.wrapOutboundOut(.head(head)), promise: nil)
        Self.write(events.opening, to: context.channel)
        let channel = context.channel
        end = events.follow { text in Self.write(text, to: channel) }
        timer = context.eventLoop.scheduleRepeatedTask(initialDelay: .seconds(15), delay: .seconds(15)) { _ in
            Self.write(events.heartbeat, to: channel)
        }
    }

    func stop() {
        end?()
        end = nil
        timer?.cancel()
    }

    private static func write(_ text: String, to channel: any Channel) {
        // Called on any thread. A client that does not read is disconnected, because the buffer would grow without
        // limit.
        channel.eventLoop.execute {
            guard channel.isActive else { return }
            guard channel.isWritable else { return channel.close(promise: nil) }
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
        }
    }
}
