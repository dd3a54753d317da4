import ArgumentParser
import NIOCore
import NIOPosix
import SocketIO

/// An echo server for conformance suites and benchmarks.
@main
struct SocketIOEcho: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socketio-echo",
        abstract: "Runs an echo server for Socket.IO and Engine.IO.",
        discussion: """
            Socket.IO, in the namespaces / and /custom: the event `auth` returns the connect payload; `message` is \
            answered by `message-back` with the same arguments, `message-with-ack` by its acknowledgement. `join` joins \
            the room named by its argument; `publish` emits `published` to that room with its other arguments.
            Engine.IO: each message is returned.
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"
    @Option(help: "The port to listen on; 0 selects a free port, which is printed.")
    var port = 3_000
    @Option(help: "The path of Socket.IO.")
    var path = "/socket.io/"
    @Option(help: "The path of Engine.IO.")
    var enginePath = "/engine.io/"
    @Option(help: "The interval between pings in milliseconds.")
    var pingInterval = 25_000
    @Option(help: "The timeout of a ping in milliseconds.")
    var pingTimeout = 20_000
    @Option(help: "The maximum size of a message in bytes.")
    var maxPayload = 1_000_000
    @Option(help: "The time in milliseconds for a client to connect to a namespace.")
    var connectTimeout = 45_000
    @Option(help: "The maximum number of bytes buffered for a client.")
    var bufferedBytes = 1 << 20
    @Option(help: "The number of event loops, one thread each.")
    var loops = 1

    func run() async throws {
        let server = SocketIOServer(configuration: settings(path: path))
        for name in ["/", "/custom"] { Echo.use(server.namespace(name)) }
        let engine = EngineServer(configuration: settings(path: enginePath), handler: EngineEcho())
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let listener = try await SocketIOListener.start(server, engine: engine, host: host, port: port, group: group)
        print("listening on \(host):\(listener.address?.port ?? port)")
        try await listener.closed()
    }

    private func settings(path: String) -> SocketIOConfiguration {
        var settings = SocketIOConfiguration(
            path: path,
            pingInterval: .milliseconds(pingInterval),
            pingTimeout: .milliseconds(pingTimeout),
            connectTimeout: .milliseconds(connectTimeout),
            maxPayload: maxPayload
        )
        settings.origins = .any
        settings.limits.bufferedBytes = bufferedBytes
        return settings
    }
}
