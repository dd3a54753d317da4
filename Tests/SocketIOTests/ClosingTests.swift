import NIOCore
import NIOHTTP1
import NIOPosix
import SocketIO
import Synchronization
import TestSupport
import Testing

@Suite("Closing") struct ClosingTests {
    @Test("A server that shuts down closes WebSockets and polls, and refuses new sessions")
    func shutdown() async throws {
        try await withServer(loops: 2) { fixture in
            let socket = try await fixture.joined()
            let client = try await fixture.polling()
            try await client.fetching.send("GET", client.path)
            #expect(try await client.post("6").body == "ok")
            let waiting = try await fixture.connect()
            #expect(try await waiting.request("GET", "/elsewhere").status == 404)
            await fixture.server.close()
            // No `41` comes first, so that clients reconnect.
            #expect(try await socket.frame() == .close(nil))
            #expect(try await client.fetching.response().body == "1")
            let answer = try await waiting.request("GET", "/socket.io/?EIO=4&transport=polling")
            #expect(answer.status == 503)
            try await eventually { fixture.server.connectionCount == 0 }
        }
    }

    @Test("When a channel shuts down, its open WebSocket, pending poll or idle connection is closed")
    func quiescing() async throws {
        let server = SocketIOServer()
        let channels = AsyncStream<any Channel>.makeStream()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channels.continuation.yield(channel)
                return channel.eventLoop.makeCompletedFuture {
                    try SocketIOGate.addHTTP(to: channel)
                    try channel.pipeline.syncOperations.addHandler(SocketIOGate(server) { _ in })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try (listener.localAddress?.port).unwrapped()
        var iterator = channels.stream.makeAsyncIterator()

        let socket = try await WebSocket(.connect(port: port), "/socket.io/?EIO=4&transport=websocket")
        #expect(try await socket.text().hasPrefix("0{"))
        try await iterator.next().unwrapped().pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(try await socket.closeCode() == nil)
        try await socket.rawConnection.readToEnd()

        let polling = try await RawConnection.connect(port: port)
        let open = try await polling.request("GET", "/socket.io/?EIO=4&transport=polling").body
        let path = "/socket.io/?EIO=4&transport=polling&sid=\(open.split(separator: "\"")[3])"
        try await polling.send("GET", path)
        let channel = try await iterator.next().unwrapped()
        // The response to a later request shows that the server has received the poll.
        #expect(
            try await RawConnection.connect(port: port).request("POST", path, body: ByteBuffer(string: "6")).status
                == 200
        )
        _ = try await iterator.next().unwrapped()
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        #expect(try await polling.response().body == "1")
        try await polling.readToEnd()

        let idle = try await RawConnection.connect(port: port)
        try await iterator.next().unwrapped().pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        try await idle.readToEnd()
        try await listener.close()
    }

    @Test("Calls on a disconnected socket do nothing or throw")
    func disconnectedSocket() async throws {
        let sockets = AsyncStream<Socket>.makeStream()
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onDisconnect { socket, _ in sockets.continuation.yield(socket) }
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send("1")
            var iterator = sockets.stream.makeAsyncIterator()
            let gone = try await iterator.next().unwrapped()
            #expect(!gone.isConnected)
            gone.emit("late")
            gone.join("a")
            gone.disconnect(close: true)
            await #expect(throws: AcknowledgementError.disconnected) {
                _ = try await gone.emit("late", timeout: .seconds(1))
            }
            #expect(try await socket.frame() == .close(nil))
        }
    }

    @Test("Values attached to a socket can be read and removed")
    func socketData() async throws {
        enum Name: SocketDataKey { typealias Value = String }
        enum Age: SocketDataKey { typealias Value = Int }
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onConnected { socket in
                socket[Name.self] = "ana"
                socket[Age.self] = 7
                socket[Age.self] = nil
            }
            server.namespace("/").on("who") { socket, event in
                event.acknowledgement?(json: "\"\(socket[Name.self] ?? "")\",\(socket[Age.self] ?? -1)")
            }
        } _: { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send("40")
            _ = try await socket.text()
            try await socket.send(#"421["who"]"#)
            #expect(try await socket.text() == #"431["ana",-1]"#)
        }
    }

    @Test("Packets after the event that disconnected the client are discarded")
    func disconnectedByItsEvent() async throws {
        let received = Mutex<[String]>([])
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onAnyOther { socket, event in
                received.withLock { $0.append(event.name) }
                if event.name == "last" { socket.disconnect() }
            }
        } _: { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("40").status == 200)
            _ = try await client.post("42[\"first\"]\u{1e}42[\"last\"]\u{1e}42[\"late\"]")
            #expect(received.withLock { $0 } == ["first", "last"])
        }
    }
}
