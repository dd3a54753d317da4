import Foundation
import NIOCore
import NIOPosix

/// A TCP connection that sends raw bytes to a server under test, also ones that no client library sends.
///
/// Reading throws after a minute, which a busy machine may need.
final class RawConnection {
    struct TimedOut: Error {}
    struct Ended: Error {}

    let channel: any Channel
    private var iterator: AsyncThrowingStream<ByteBuffer, any Error>.Iterator
    private let source: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
    private(set) var received = ByteBuffer()

    static func connect(port: Int, readsAlways: Bool = true) async throws -> RawConnection {
        let (stream, source) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: readsAlways)
            .channelOption(.socketOption(.so_rcvbuf), value: readsAlways ? 262_144 : 4_096)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Collector(source: source))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .get()
        return RawConnection(channel: channel, stream: stream, source: source)
    }

    private init(
        channel: any Channel,
        stream: AsyncThrowingStream<ByteBuffer, any Error>,
        source: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
    ) {
        self.channel = channel
        self.source = source
        iterator = stream.makeAsyncIterator()
    }

    deinit { channel.close(promise: nil) }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    func send(_ bytes: ByteBuffer) async throws {
        try await channel.writeAndFlush(bytes)
    }

    func close() async throws {
        try await channel.close()
    }

    /// Waits for more bytes.
    private func more() async throws {
        let source = source
        let timer = channel.eventLoop.scheduleTask(in: .minutes(1)) { source.finish(throwing: TimedOut()) }
        defer { timer.cancel() }
        guard var bytes = try await iterator.next() else { throw Ended() }
        received.discardReadBytes()
        received.writeBuffer(&bytes)
    }

    /// Reads the next `count` bytes.
    func read(_ count: Int) async throws -> ByteBuffer {
        while received.readableBytes < count { try await more() }
        return try received.readSlice(length: count).unwrapped()
    }

    /// Reads up to and including the text `end`.
    func read(through end: String) async throws -> String {
        while true {
            let text = String(buffer: received)
            if let range = text.range(of: end) {
                let length = text[..<range.upperBound].utf8.count
                return try String(buffer: received.readSlice(length: length).unwrapped())
            }
            try await more()
        }
    }

    /// Waits until the server has closed the connection, and returns the bytes that still arrived.
    @discardableResult
    func readToEnd() async throws -> ByteBuffer {
        do {
            while true { try await more() }
        } catch is Ended {
            return received
        }
    }
}

/// Passes received bytes to the stream.
private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let source: AsyncThrowingStream<ByteBuffer, any Error>.Continuation

    init(source: AsyncThrowingStream<ByteBuffer, any Error>.Continuation) {
        self.source = source
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        source.yield(unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        source.finish()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset counts as an ordinary end.
        context.close(promise: nil)
    }
}

extension Optional {
    struct Missing: Error {}

    func unwrapped() throws -> Wrapped {
        guard let self else { throw Missing() }
        return self
    }
}
