import Foundation
import NIOCore
import NIOPosix
import SocketIO
import Testing

@testable import SocketIOClient

/// A server for one test, with its endpoint.
struct Fixture: Sendable {
    let server: SocketIOServer
    let endpoint: SocketIOEndpoint

    func connect(auth: String = "{}") async throws -> SocketIOConnection {
        try await SocketIOConnection.connect(to: endpoint, auth: Data(auth.utf8))
    }
}

/// A running server; another one can be started on the same port after `stop()`.
struct RunningServer: Sendable {
    let server: SocketIOServer
    let port: Int
    private let listener: SocketIOListener
    private let group: MultiThreadedEventLoopGroup

    static func start(
        port: Int = 0,
        _ change: (inout SocketIOConfiguration) -> Void = { _ in },
        _ use: (Namespace) -> Void
    ) async throws -> RunningServer {
        var configuration = SocketIOConfiguration()
        change(&configuration)
        let server = SocketIOServer(configuration: configuration)
        use(server.namespace("/"))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await SocketIOListener.start(server, port: port, group: group)
        let port = try #require(listener.address?.port)
        return RunningServer(server: server, port: port, listener: listener, group: group)
    }

    func stop() async throws {
        await listener.close()
        try await group.shutdownGracefully()
    }

    func endpoint(_ change: (inout SocketIOEndpoint) -> Void = { _ in }) throws -> SocketIOEndpoint {
        var endpoint = try SocketIOEndpoint("http://127.0.0.1:\(port)")
        change(&endpoint)
        return endpoint
    }
}

func withServer(
    _ change: (inout SocketIOConfiguration) -> Void = { _ in },
    namespace use: (Namespace) -> Void,
    _ body: (Fixture) async throws -> Void
) async throws {
    let running = try await RunningServer.start(change, use)
    do {
        try await body(Fixture(server: running.server, endpoint: try running.endpoint()))
    } catch {
        try await running.stop()
        throw error
    }
    try await running.stop()
}

func json(_ text: String) -> Data { Data(text.utf8) }

func texts(_ items: [Data]) -> [String] { items.map { String(decoding: $0, as: UTF8.self) } }
