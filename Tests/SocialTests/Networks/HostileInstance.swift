import NIOCore
import NIOPosix
import Synchronization

/// An instance that responds to every request with the same bytes, repeated without end.
final class HostileInstance: Sendable {
    private final class State: Sendable {
        let bytes = Atomic(0)
        let connections = Atomic(0)
        let waiting = Atomic(0)
    }

    private let channel: any Channel
    private let state: State

    /// Sends `piece` repeatedly, and without end if `repetitions` is nil.
    private init(_ piece: String, repetitions: Int?) async throws {
        let state = State()
        // A block has many pieces, as a fast sender would send them.
        let times = max(1, 65_536 / piece.utf8.count)
        let block = ByteBuffer(string: String(repeating: piece, count: times))
        let blocks = repetitions.map { ($0 + times - 1) / times }
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Sender(block, blocks: blocks, state))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.state = state
    }

    var place: String { "127.0.0.1:\(channel.localAddress?.port ?? 0)" }
    var url: String { "http://\(place)" }
    /// The number of bytes of bodies that the system has accepted.
    var sent: Int { state.bytes.load(ordering: .relaxed) }
    var connections: Int { state.connections.load(ordering: .relaxed) }
    /// The number of connections that accept no more bytes.
    var waiting: Int { state.waiting.load(ordering: .relaxed) }

    /// Runs `body` with the instance.
    static func run(
        sending piece: String,
        times repetitions: Int? = nil,
        _ body: (HostileInstance) async throws -> Void
    ) async throws {
        let instance = try await HostileInstance(piece, repetitions: repetitions)
        do {
            try await body(instance)
        } catch {
            try? await instance.channel.close().get()  // The channel may be closed already.
            throw error
        }
        try await instance.channel.close().get()
    }

    private final class Sender: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let block: ByteBuffer
        private var blocks: Int?
        private let state: State
        private var isAsked = false
        private var isWaiting = false

        init(_ block: ByteBuffer, blocks: Int?, _ state: State) {
            self.block = block
            self.blocks = blocks
            self.state = state
        }

        func channelActive(context: ChannelHandlerContext) {
            state.connections.wrappingAdd(1, ordering: .relaxed)
        }

        func channelInactive(context: ChannelHandlerContext) {
            state.connections.wrappingSubtract(1, ordering: .relaxed)
            wait(false)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isAsked else { return }
            isAsked = true
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
            send(context)
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) { if isAsked { send(context) } }

        private func send(_ context: ChannelHandlerContext) {
            while context.channel.isWritable, context.channel.isActive {
                guard blocks != 0 else { return context.close(promise: nil) }
                blocks = blocks.map { $0 - 1 }
                let (state, size) = (state, block.readableBytes)
                context.writeAndFlush(wrapOutboundOut(block)).whenSuccess {
                    state.bytes.wrappingAdd(size, ordering: .relaxed)
                }
            }
            wait(context.channel.isActive)
        }

        private func wait(_ isWaiting: Bool) {
            guard self.isWaiting != isWaiting else { return }
            self.isWaiting = isWaiting
            if isWaiting {
                state.waiting.wrappingAdd(1, ordering: .relaxed)
            } else {
                state.waiting.wrappingSubtract(1, ordering: .relaxed)
            }
        }
    }
}
