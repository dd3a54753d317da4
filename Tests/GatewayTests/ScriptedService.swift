import NIOCore
import NIOPosix
import Synchronization

/// A service that does with each connection what its script says, valid HTTP or not.
final class ScriptedService: Sendable {
    typealias Script = @Sendable (RawConnection, ScriptedService) async throws -> Void

    private let receivedRequests = Mutex<[RawMessage]>([])
    private let opened = Mutex(0)
    private let bytesRead = Mutex(0)
    private let scripts = Mutex<[(task: Task<Void, any Error>, channel: any Channel)]>([])
    private let address = Mutex(0)

    var port: Int { address.withLock { $0 } }
    /// The received requests, in order.
    var requests: [RawMessage] { receivedRequests.withLock { $0 } }
    var connections: Int { opened.withLock { $0 } }
    /// The number of bytes that scripts have reported.
    var received: Int { bytesRead.withLock { $0 } }

    func record(_ message: RawMessage) {
        receivedRequests.withLock { $0.append(message) }
    }

    func record(bytes: Int) {
        bytesRead.withLock { $0 += bytes }
    }

    static func run<Value>(
        _ script: @escaping Script,
        _ body: (ScriptedService) async throws -> Value
    ) async throws -> Value {
        let service = ScriptedService()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                let reader = RawReader(eventLoop: channel.eventLoop)
                service.execute(script, on: channel, reader: reader)
                return channel.pipeline.addHandler(reader)
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        service.address.withLock { $0 = listener.localAddress?.port ?? 0 }
        do {
            let response = try await body(service)
            try await service.stop(listener)
            return response
        } catch {
            try await service.stop(listener)
            throw error
        }
    }

    private func execute(_ script: @escaping Script, on channel: any Channel, reader: RawReader) {
        opened.withLock { $0 += 1 }
        let task = Task {
            // A script throws when its connection ends, which tests cause on purpose.
            defer { channel.close(promise: nil) }
            try await script(RawConnection(channel: channel, reader: reader), self)
        }
        scripts.withLock { $0.append((task, channel)) }
    }

    private func stop(_ listener: any Channel) async throws {
        try await listener.close().get()
        for (task, channel) in scripts.withLock({ $0 }) {
            task.cancel()
            channel.close(promise: nil)
            _ = await task.result
        }
    }

    /// Responds to every request with 200 and the request itself as the body.
    static let echo: Script = { connection, service in
        while let request = try await connection.message() {
            service.record(request)
            let body = request.head + "\r\n\r\n" + request.text
            try await connection.send(response(body))
        }
    }

    static func response(_ body: String, status: String = "200 OK", fields: String = "") -> String {
        "HTTP/1.1 \(status)\r\ncontent-type: text/plain\r\n\(fields)content-length: \(body.utf8.count)\r\n\r\n\(body)"
    }
}
