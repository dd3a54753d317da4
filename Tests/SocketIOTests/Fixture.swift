import Foundation
import NIOCore
import NIOPosix
import SocketIO
import Testing

@testable import socketio_echo

/// An echo server for one test.
struct Fixture: Sendable {
    let server: SocketIOServer
    let port: Int

    func connect() async throws -> RawConnection {
        try await RawConnection.connect(port: port)
    }

    /// Opens a WebSocket and reads its open packet.
    func webSocket(revision: Int = 4, query: String = "", _ fields: [String: String] = [:]) async throws -> WebSocket {
        let path = "/socket.io/?EIO=\(revision)&transport=websocket\(query)"
        let socket = try await WebSocket(connect(), path, fields)
        let open = try await socket.text()
        #expect(open.hasPrefix("0{"))
        return socket
    }

    /// Opens a WebSocket, joins `/` and reads the `auth` event.
    func joined() async throws -> WebSocket {
        let socket = try await webSocket()
        try await socket.send("40")
        #expect(try await socket.text().hasPrefix("40{"))
        #expect(try await socket.text() == #"42["auth",{}]"#)
        return socket
    }

    /// Opens a polling session.
    func polling(revision: Int = 4, query: String = "") async throws -> Polling {
        try await Polling(self, revision: revision, query: query)
    }
}

/// A polling client with one connection for fetching and one for posting.
struct Polling {
    let fixture: Fixture
    let id: String
    let path: String
    let fetching: RawConnection
    let posting: RawConnection

    init(_ fixture: Fixture, revision: Int, query: String) async throws {
        self.fixture = fixture
        fetching = try await fixture.connect()
        posting = try await fixture.connect()
        let base = "/socket.io/?EIO=\(revision)&transport=polling\(query)"
        let open = try await fetching.request("GET", base).body
        let json = try open.firstIndex(of: "{").map { open[$0...] }.unwrapped()
        let fields = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        id = try (fields?["sid"] as? String).unwrapped()
        path = base + "&sid=\(id)"
    }

    func fetch() async throws -> Response {
        try await fetching.request("GET", path)
    }

    /// Fetches until the text `end` has arrived.
    func fetch(until end: String) async throws -> String {
        var all = ""
        while !all.contains(end) {
            let response = try await fetch()
            guard response.status == 200 else { throw SessionEnded(response: response, before: all) }
            all += response.body
        }
        return all
    }

    struct SessionEnded: Error {
        let response: Response
        let before: String
    }

    func post(_ body: String) async throws -> Response {
        try await posting.request("POST", path, ["Content-Type": "text/plain"], body: ByteBuffer(string: body))
    }

    func post(_ bytes: [UInt8]) async throws -> Response {
        let fields = ["Content-Type": "application/octet-stream"]
        return try await posting.request("POST", path, fields, body: ByteBuffer(bytes: bytes))
    }

    /// Returns whether the server still has the session, by a request on a new connection that changes nothing.
    func isKnown() async throws -> Bool {
        try await fixture.connect().request("POST", path, body: ByteBuffer(string: "6")).status == 200
    }
}

func withServer(
    loops: Int = 1,
    _ change: (inout SocketIOConfiguration) -> Void = { _ in },
    namespaces use: (SocketIOServer) -> Void = { _ in },
    _ body: (Fixture) async throws -> Void
) async throws {
    var configuration = SocketIOConfiguration()
    change(&configuration)
    let server = SocketIOServer(configuration: configuration)
    for name in ["/", "/custom"] { Echo.use(server.namespace(name)) }
    use(server)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
    let listener = try await SocketIOListener.start(server, group: group)
    let port = try (listener.address?.port).unwrapped()
    do {
        try await body(Fixture(server: server, port: port))
    } catch {
        await listener.close()
        try await group.shutdownGracefully()
        throw error
    }
    await listener.close()
    try await group.shutdownGracefully()
}
