import NIOCore
import NIOHTTP1
import NIOWebSocket

/// What is told to one client as it happens.
struct EventStream: Sendable {
    let headers: HTTPHeaders
    let opening: String
    /// What shows that it is there still, every 15 seconds.
    let heartbeat: String
    /// Begins to call with what there is to send; answers how to end it.
    let follow: @Sendable (_ send: @escaping @Sendable (String) -> Void) -> @Sendable () -> Void
}

/// Sends server-sent events, or what is like them, over one connection until it ends.
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
        // From any thread; a client that does not read is cut off, since it would be written to for ever.
        channel.eventLoop.execute {
            guard channel.isActive else { return }
            guard channel.isWritable else { return channel.close(promise: nil) }
            channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: text))), promise: nil)
        }
    }
}
