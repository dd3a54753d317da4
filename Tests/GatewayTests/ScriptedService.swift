import NIOCore
import NIOPosix
import Synchronization

/// A service that does with each connection what its script says, however rude.
final class ScriptedService: Sendable {
    typealias Script = @Sendable (RawConnection, ScriptedService) async throws -> Void

    private let heard = Mutex<[RawMessage]>([])
    private let opened = Mutex(0)
    private let bytesRead = Mutex(0)
    private let listener: NIOAsyncChannel<RawConnection.Stream, Never>

    private init(listener: NIOAsyncChannel<RawConnection.Stream, Never>) {
        self.listener = listener
    }

    var port: Int { listener.channel.localAddress?.port ?? 0 }
    /// The requests that came, in their order.
    var requests: [RawMessage] { heard.withLock { $0 } }
    var connections: Int { opened.withLock { $0 } }
    /// What a script said it had read.
    var received: Int { bytesRead.withLock { $0 } }

    func note(_ message: RawMessage) {
        heard.withLock { $0.append(message) }
    }

    func note(bytes: Int) {
        bytesRead.withLock { $0 += bytes }
    }

    static func run<Answer>(
        _ script: @escaping Script,
        _ body: (ScriptedService) async throws -> Answer
    ) async throws -> Answer {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture { try RawConnection.Stream.halfClosing(channel) }
            }
        let service = ScriptedService(listener: listener)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.serve(script) }
            // What a script throws is a connection that ended under it, which the tests bring about on purpose.
            defer { group.cancelAll() }
            return try await body(service)
        }
    }

    private func serve(_ script: @escaping Script) async throws {
        try await listener.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { group in
                for try await stream in connections {
                    opened.withLock { $0 += 1 }
                    group.addTask {
                        try? await stream.executeThenClose { inbound, outbound in
                            try await script(
                                RawConnection(channel: stream.channel, inbound: inbound, outbound: outbound),
                                self
                            )
                        }
                    }
                }
            }
        }
    }

    /// Answers every request with 200 and, as its body, the request as it came.
    static let echo: Script = { connection, service in
        while let request = try await connection.message() {
            service.note(request)
            let body = request.head + "\r\n\r\n" + request.text
            try await connection.send(answer(body))
        }
    }

    static func answer(_ body: String, status: String = "200 OK", fields: String = "") -> String {
        "HTTP/1.1 \(status)\r\ncontent-type: text/plain\r\n\(fields)content-length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
