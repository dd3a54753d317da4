import NIOCore
import SocketIO
import Testing

@Suite(.serialized) struct HeartbeatTests {
    /// Long enough for whoever has to say something before he falls silent, however busy the machine is.
    private func quick(_ settings: inout SocketIOConfiguration) {
        settings.pingInterval = .milliseconds(50)
        settings.pingTimeout = .seconds(4)
    }

    /// For whoever answers: no machine is held up for so long.
    private func patient(_ settings: inout SocketIOConfiguration) {
        settings.pingInterval = .milliseconds(50)
        settings.pingTimeout = .seconds(60)
    }

    @Test func theServerPingsInRevision4() async throws {
        try await withServer(patient) { fixture in
            let socket = try await fixture.webSocket()
            for _ in 0..<4 {
                #expect(try await socket.text() == "2")
                try await socket.send("3")
            }
        }
        try await withServer(quick) { fixture in
            let socket = try await fixture.webSocket()
            // Not answered.
            #expect(try await socket.text() == "2")
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test func overPollingToo() async throws {
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

    @Test func theClientPingsInRevision3() async throws {
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
            // Silence.
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test(arguments: [(4, "2"), (3, "3")])
    func theWrongDirectionCloses(revision: Int, packet: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket(revision: revision)
            try await socket.send(packet)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test func onlyThePongCounts() async throws {
        let reasons = AsyncStream<DisconnectReason>.makeStream()
        try await withServer(quick) { server in
            server.namespace("/").onDisconnect { _, reason in reasons.continuation.yield(reason) }
        } _: { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send("40")
            // A ping may come before what he is told of his joining.
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

    @Test func noNamespaceJoined() async throws {
        try await withServer { settings in
            settings.connectTimeout = .milliseconds(50)
        } _: { fixture in
            let idle = try await fixture.webSocket()
            #expect(try await idle.closeCode() == nil)
        }
        try await withServer { settings in
            // In which the client has to say something.
            settings.connectTimeout = .seconds(5)
        } _: { fixture in
            let refused = try await fixture.webSocket()
            try await refused.send("40/nowhere")
            #expect(try await refused.text() == #"44/nowhere,{"message":"Invalid namespace"}"#)
            #expect(try await refused.closeCode() == nil)
        }
    }
}
