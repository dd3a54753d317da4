import NIOCore
import SocketIO
import Testing

@Suite("Heartbeat", .serialized) struct HeartbeatTests {
    /// A short ping timeout, but long enough for a client to send its first packets on a busy machine.
    private func quick(_ settings: inout SocketIOConfiguration) {
        settings.pingInterval = .milliseconds(50)
        settings.pingTimeout = .seconds(4)
    }

    /// A ping timeout longer than any delay of a busy machine, for clients that answer.
    private func patient(_ settings: inout SocketIOConfiguration) {
        settings.pingInterval = .milliseconds(50)
        settings.pingTimeout = .seconds(60)
    }

    @Test("The server pings in revision 4, and closes a client that does not answer")
    func revision4() async throws {
        try await withServer(patient) { fixture in
            let socket = try await fixture.webSocket()
            for _ in 0..<4 {
                #expect(try await socket.text() == "2")
                try await socket.send("3")
            }
        }
        try await withServer(quick) { fixture in
            let socket = try await fixture.webSocket()
            // This ping gets no answer.
            #expect(try await socket.text() == "2")
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("The server pings over polling, and ends a session that does not answer")
    func polling() async throws {
        try await withServer(patient) { fixture in
            let client = try await fixture.polling()
            for _ in 0..<3 {
                #expect(try await client.fetch().body == "2")
                #expect(try await client.post("3").body == "ok")
            }
        }
        try await withServer(quick) { fixture in
            let client = try await fixture.polling()
            #expect(try await client.fetch().body == "2")
            #expect(try await client.fetch().body == "1")
            #expect(try await !client.isKnown())
        }
    }

    @Test("The client pings in revision 3, and a silent client is closed")
    func revision3() async throws {
        try await withServer(patient) { fixture in
            let socket = try await fixture.webSocket(revision: 3)
            #expect(try await socket.text() == "40")
            #expect(try await socket.text() == #"42["auth",{}]"#)
            for ping in ["2", "2", "2probe"] {
                try await socket.send(ping)
                #expect(try await socket.text() == "3")
            }
        }
        try await withServer(quick) { fixture in
            let socket = try await fixture.webSocket(revision: 3)
            // The client sends nothing.
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A ping or pong in the wrong direction closes the connection", arguments: [(4, "2"), (3, "3")])
    func wrongDirection(revision: Int, packet: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket(revision: revision)
            try await socket.send(packet)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("Events do not replace a missing pong")
    func onlyPongs() async throws {
        let reasons = AsyncStream<DisconnectReason>.makeStream()
        try await withServer(quick) { server in
            server.namespace("/").onDisconnect { _, reason in reasons.continuation.yield(reason) }
        } _: { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send("40")
            // A ping may arrive before the `auth` event.
            while try await socket.text() != #"42["auth",{}]"# {}
            let talking = Task {
                while !Task.isCancelled {
                    try await socket.send(#"42["nothing"]"#)
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            defer { talking.cancel() }
            var iterator = reasons.stream.makeAsyncIterator()
            #expect(await iterator.next() == .pingTimeout)
        }
    }

    @Test("A connection that joins no namespace is closed at the timeout")
    func noNamespaceJoined() async throws {
        try await withServer { settings in
            settings.connectTimeout = .milliseconds(50)
        } _: { fixture in
            let idle = try await fixture.webSocket()
            #expect(try await idle.closeCode() == nil)
        }
        try await withServer { settings in
            // Long enough for the client to send its packet.
            settings.connectTimeout = .seconds(5)
        } _: { fixture in
            let refused = try await fixture.webSocket()
            try await refused.send("40/nowhere")
            #expect(try await refused.text() == #"44/nowhere,{"message":"Invalid namespace"}"#)
            #expect(try await refused.closeCode() == nil)
        }
    }
}
