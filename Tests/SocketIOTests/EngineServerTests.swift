import NIOCore
import NIOPosix
import SocketIO
import Testing

@testable import socketio_echo

@Suite("Engine.IO server") struct EngineServerTests {
    private func withEngine(_ body: (Fixture) async throws -> Void) async throws {
        let server = SocketIOServer()
        let engine = EngineServer(configuration: SocketIOConfiguration(path: "/engine.io/"), handler: EngineEcho())
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await SocketIOListener.start(server, engine: engine, group: group)
        try await body(Fixture(server: server, port: try (listener.address?.port).unwrapped()))
        #expect(engine.connectionCount <= 2)
        await listener.close()
    }

    @Test("Messages are echoed over a WebSocket")
    func webSocket() async throws {
        try await withEngine { fixture in
            let socket = try await WebSocket(fixture.connect(), "/engine.io/?EIO=4&transport=websocket")
            #expect(try await socket.text().hasPrefix("0{"))
            try await socket.send("4hello")
            #expect(try await socket.text() == "4hello")
            try await socket.send(binary: [1, 2, 3, 4])
            #expect(try await socket.frame() == .binary([1, 2, 3, 4]))
            try await socket.send("abc")
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("Messages are echoed over polling")
    func polling() async throws {
        try await withEngine { fixture in
            let rawConnection = try await fixture.connect()
            let open = try await rawConnection.request("GET", "/engine.io/?EIO=4&transport=polling").body
            let path = "/engine.io/?EIO=4&transport=polling&sid=\(open.split(separator: "\"")[3])"
            let all = "4test1\u{1e}4test2\u{1e}bAQIDBA==\u{1e}4test3"
            #expect(try await rawConnection.request("POST", path, body: ByteBuffer(string: all)).body == "ok")
            #expect(try await rawConnection.request("GET", path).body == all)
            #expect(try await rawConnection.request("GET", "/socket.io/?EIO=4&transport=polling").status == 200)
            #expect(try await rawConnection.request("GET", "/other").status == 404)
        }
    }
}
