import NIOCore
import NIOHTTP1
import SocketIO
import Testing

@Suite("Namespaces") struct NamespaceTests {
    @Test("A socket's id differs from its session's id")
    func socketID() async throws {
        try await withServer { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("40{\"token\":\"123\"}").body == "ok")
            let answer = try await client.fetch(until: "auth")
            #expect(answer.hasPrefix(#"40{"sid":""#))
            #expect(!answer.contains(client.id))
            #expect(answer.hasSuffix(#"42["auth",{"token":"123"}]"#))
        }
    }

    @Test(
        "A second namespace has its own socket, which can leave",
        arguments: ["40/custom,", "40/custom", #"40/custom,{"a":1}"#]
    )
    func secondNamespace(packet: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send(packet)
            #expect(try await socket.text().hasPrefix(#"40/custom,{"sid":""#))
            #expect(try await socket.text() == "42/custom,[\"auth\",\(packet.contains("{") ? "{\"a\":1}" : "{}")]")
            try await socket.send(#"42/custom,["message","x"]"#)
            #expect(try await socket.text() == #"42/custom,["message-back","x"]"#)
            try await socket.send("41/custom,")
            try await socket.send(#"42["message","main"]"#)
            #expect(try await socket.text() == #"42["message-back","main"]"#)
            // A packet for a namespace that the client has left breaks the protocol.
            try await socket.send(#"42/custom,["message"]"#)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A rejected connection is reported in the form of the client's protocol revision")
    func rejection() async throws {
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/bare").onConnect { _, _ in .refuse("no \"you\"") }
            server.namespace("/data").onConnect { _, _ in
                .refuse(ConnectRefusal("no", data: ByteBuffer(string: #"{"code":401}"#)))
            }
        } _: { fixture in
            let new = try await fixture.webSocket()
            let old = try await fixture.webSocket(revision: 3)
            #expect(try await old.text() == "40")
            #expect(try await old.text() == #"42["auth",{}]"#)
            for (name, four, three) in [
                ("/nope", #"{"message":"Invalid namespace"}"#, #""Invalid namespace""#),
                ("/bare", #"{"message":"no \"you\""}"#, #""no \"you\"""#),
                ("/data", #"{"message":"no","data":{"code":401}}"#, #"{"code":401}"#),
            ] {
                try await new.send("40\(name)")
                #expect(try await new.text() == "44\(name),\(four)")
                try await old.send("40\(name)")
                #expect(try await old.text() == "44\(name),\(three)")
            }
        }
    }

    @Test("A revision 3 client authenticates with the query of its namespace")
    func queryAuth() async throws {
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/admin").onConnect { _, handshake in
                handshake.query["token"] == "a b" ? .accept : .refuse("no")
            }
        } _: { fixture in
            let socket = try await fixture.webSocket(revision: 3)
            _ = try await socket.text()
            _ = try await socket.text()
            try await socket.send("40/admin?token=1,")
            #expect(try await socket.text() == #"44/admin,"no""#)
            try await socket.send("40/admin?token=a%20b,")
            #expect(try await socket.text() == "40/admin,")
        }
    }

    @Test("The connect handler receives the headers, query and address, also for a later namespace")
    func handshakeDetails() async throws {
        try await withServer { settings in
            settings.handshakeRetention = .always
        } namespaces: { server in
            for name in ["/", "/later"] {
                server.namespace(name).onConnect { _, handshake in
                    let isKnown = handshake.head?.headers.first(name: "x-key") == "7" && handshake.query["room"] == "é"
                    return isKnown && handshake.remoteAddress?.ipAddress == "127.0.0.1" ? .accept : .refuse("unknown")
                }
            }
        } _: { fixture in
            let socket = try await fixture.webSocket(query: "&room=%C3%A9", ["X-Key": "7"])
            try await socket.send("40")
            #expect(try await socket.text().hasPrefix("40{"))
            try await socket.send("40/later")
            while true {
                let text = try await socket.text()
                if text.hasPrefix("42") { continue }
                #expect(text.hasPrefix("40/later,{"))
                break
            }
        }
    }

    @Test("Other namespaces work while a join is decided; a packet for the undecided one closes the connection")
    func asynchronousDecision() async throws {
        let decision = AsyncStream<Bool>.makeStream()
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/slow").onConnect { _, _ in
                .later {
                    var decisions = decision.stream.makeAsyncIterator()
                    return await decisions.next() == true ? .accept : .refuse("no")
                }
            }
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send("40/slow")
            try await socket.send(#"42["message","before"]"#)
            #expect(try await socket.text() == #"42["message-back","before"]"#)
            decision.continuation.yield(true)
            #expect(try await socket.text().hasPrefix("40/slow,{"))

            let early = try await fixture.joined()
            try await early.send("40/slow")
            try await early.send(#"42/slow,["message"]"#)
            #expect(try await early.closeCode() == nil)
            decision.continuation.finish()
        }
    }

    @Test(
        "A packet that breaks the protocol closes the connection",
        arguments: ["40", "42/custom,[\"message\"]", "41/custom,", "43/custom,1[]", "430[", "44{}"]
    )
    func protocolViolation(packet: String) async throws {
        try await withServer { fixture in
            let socket = try await fixture.joined()
            try await socket.send(packet)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A packet for a namespace that the client has not joined closes the connection")
    func notConnected() async throws {
        try await withServer { fixture in
            let socket = try await fixture.webSocket()
            try await socket.send(#"42["message"]"#)
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A client whose joins are refused too often is disconnected")
    func refusals() async throws {
        try await withServer { settings in
            settings.limits.refusals = 3
        } _: { fixture in
            let socket = try await fixture.joined()
            for _ in 0..<3 {
                try await socket.send("40/nope")
                #expect(try await socket.text().hasPrefix("44/nope,"))
            }
            #expect(try await socket.closeCode() == nil)
        }
    }

    @Test("A connection cannot join more namespaces than the limit")
    func namespaceLimit() async throws {
        try await withServer { settings in
            settings.limits.namespaces = 1
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send("40/custom")
            #expect(try await socket.text() == #"44/custom,{"message":"Too many namespaces"}"#)
        }
    }

    @Test("The disconnect reasons are those of the reference implementation")
    func reasons() async throws {
        let reasons = AsyncStream<DisconnectReason>.makeStream()
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").onDisconnect { _, reason in reasons.continuation.yield(reason) }
            server.namespace("/").on("leave") { socket, _ in socket.disconnect() }
            server.namespace("/").on("cut") { socket, _ in socket.connection.close() }
        } _: { fixture in
            var iterator = reasons.stream.makeAsyncIterator()
            for (packet, reason) in [
                ("41", DisconnectReason.clientNamespaceDisconnect), ("42[\"leave\"]", .serverNamespaceDisconnect),
                ("42[\"cut\"]", .forcedClose), ("1", .transportClose), ("2", .transportError), ("4x", .parseError),
                ("40", .forcedServerClose),
            ] {
                let socket = try await fixture.joined()
                try await socket.send(packet)
                #expect(await iterator.next() == reason)
                if packet.contains("leave") { #expect(try await socket.text() == "41") }
            }
            let last = try await fixture.joined()
            await fixture.server.close()
            #expect(await iterator.next() == .serverShuttingDown)
            #expect(try await last.closeCode() == nil)
        }
    }
}
