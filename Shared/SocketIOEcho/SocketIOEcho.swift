import ArgumentParser
import NIOCore
import NIOPosix
import SocketIO

/// A server for conformance suites and for measuring: it says back what it is told.
@main
struct SocketIOEcho: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socketio-echo",
        abstract: "Says back what it is told, over Socket.IO and over Engine.IO alone.",
        discussion: """
            Socket.IO, in / and in /custom: `auth` comes with the connect payload; `message` is answered by \
            `message-back` with the same arguments, `message-with-ack` by its acknowledgement. `join` joins the room \
            named by its argument; `publish` says `published` to that room, with what stands behind its name.
            Engine.IO: each message comes back.
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"
    @Option(help: "The port to listen on; 0 takes a free one, and says which.")
    var port = 3_000
    @Option(help: "Where Socket.IO is.")
    var path = "/socket.io/"
    @Option(help: "Where Engine.IO alone is.")
    var enginePath = "/engine.io/"
    @Option(help: "Milliseconds from one ping to the next.")
    var pingInterval = 25_000
    @Option(help: "Milliseconds until a ping has to be answered.")
    var pingTimeout = 20_000
    @Option(help: "Bytes that a message may have.")
    var maxPayload = 1_000_000
    @Option(help: "Milliseconds until a connection has to be in a namespace.")
    var connectTimeout = 45_000
    @Option(help: "Bytes that may wait for a client to read them.")
    var bufferedBytes = 1 << 20
    @Option(help: "Event loops, each a thread.")
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
