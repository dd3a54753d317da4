import NIOCore
import NIOPosix

/// A listener on a free port.
enum TestListener {
    /// Listens while `body` runs; `install` adds the handlers to each connection.
    static func run<Value>(
        _ install: @escaping @Sendable (any Channel) throws -> Void,
        _ body: (_ port: Int) async throws -> Value
    ) async throws -> Value {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try install(channel) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            guard let port = channel.localAddress?.port else { throw ChannelError.unknownLocalAddress }
            let value = try await body(port)
            try await channel.close()
            return value
        } catch {
            try? await channel.close()
            throw error
        }
    }
}
