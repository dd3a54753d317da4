import NIOCore
import SocketIO
import Synchronization
import Testing

@Suite("Backpressure") struct BackpressureTests {
    @Test("A socket that stops reading is disconnected, and other sockets receive every message")
    func slowReader() async throws {
        let reasons = AsyncStream<DisconnectReason>.makeStream()
        try await withServer { settings in
            settings.limits.bufferedBytes = 200_000
        } namespaces: { server in
            server.namespace("/").onDisconnect { _, reason in reasons.continuation.yield(reason) }
        } _: { fixture in
            var stalled: [WebSocket] = []
            for _ in 0..<5 {
                let socket = try await fixture.joined()
                try await socket.send("421[\"join\",\"a\"]")
                #expect(try await socket.text() == "431[]")
                try await socket.rawConnection.channel.setOption(.autoRead, value: false).get()
                stalled.append(socket)
            }
            let reader = try await fixture.joined()
            try await reader.send("421[\"join\",\"a\"]")
            #expect(try await reader.text() == "431[]")

            // More bytes than the kernel's buffers and the limit hold.
            let padding = String(repeating: "x", count: 50_000)
            let chat = fixture.server.namespace("/")
            for number in 0..<400 {
                chat.to("\"a\"").emit("n", SocketArguments(json: "\(number),\"\(padding)\""))
                #expect(try await reader.text().hasPrefix("42[\"n\",\(number),"))
            }
            var iterator = reasons.stream.makeAsyncIterator()
            for _ in stalled { #expect(await iterator.next() == .transportError) }
            #expect(fixture.server.connectionCount == 1)
        }
    }

    @Test("One message larger than the buffer limit does not disconnect its receiver")
    func largeMessage() async throws {
        try await withServer { settings in
            settings.limits.bufferedBytes = 1_000
        } _: { fixture in
            let socket = try await fixture.joined()
            let text = String(repeating: "a", count: 900_000)
            try await socket.send("42[\"message\",\"\(text)\"]")
            #expect(try await socket.text().utf8.count == text.utf8.count + #"42["message-back",""]"#.utf8.count)
        }
    }

    @Test("Large unfinished messages of all sockets together are limited; small messages pass", arguments: [1, 3])
    func totalPayload(loops: Int) async throws {
        let handled = AsyncStream<Void>.makeStream()
        try await withServer(loops: loops) { settings in
            settings.limits.payloadBytes = 300_000
        } namespaces: { server in
            server.namespace("/").on("work") { socket, event in
                socket.emit("begun")
                socket.perform {
                    for await _ in handled.stream { break }
                    event.acknowledgement?()
                }
            }
        } _: { fixture in
            let large = ByteBuffer(string: "421[\"work\",\"" + String(repeating: "x", count: 200_000) + "\"]")
            let slow = try await fixture.joined()
            try await slow.send(opcode: 1, large.getSlice(at: 0, length: 150_000).unwrapped(), isFinal: false)
            try await slow.send(opcode: 9, ByteBuffer(string: "begun"))
            #expect(try await slow.frame() == .pong("begun"))
            #expect(try await Self.closeCode(of: large, in: fixture) == 1013)
            // A received message counts until it has been handled.
            let rest = large.getSlice(at: 150_000, length: large.readableBytes - 150_000)
            try await slow.send(opcode: 0, rest.unwrapped())
            #expect(try await slow.text() == #"42["begun"]"#)
            #expect(try await Self.closeCode(of: large, in: fixture) == 1013)
            let polling = try await fixture.polling()
            #expect(try await polling.post("40").status == 200)
            #expect(try await polling.post(String(buffer: large)).status == 503)
            let small = try await fixture.joined()
            try await small.send(#"42["message",1]"#)
            #expect(try await small.text() == #"42["message-back",1]"#)

            handled.continuation.finish()
            #expect(try await slow.text() == "431[]")
            // The acknowledgement may be sent shortly before the memory is released.
            var frame: WebSocket.Frame
            repeat {
                let next = try await fixture.joined()
                try await next.send(opcode: 1, large)
                frame = try await next.frame()
            } while frame == .close(1013)
            #expect(frame == .text(#"42["begun"]"#))
        }
    }

    private static func closeCode(of message: ByteBuffer, in fixture: Fixture) async throws -> UInt16? {
        let socket = try await fixture.joined()
        try await socket.send(opcode: 1, message)
        return try await socket.closeCode()
    }

    @Test("A polling client that does not fetch its packets is disconnected")
    func slowPoller() async throws {
        let reasons = AsyncStream<DisconnectReason>.makeStream()
        try await withServer { settings in
            settings.limits.bufferedBytes = 10_000
        } namespaces: { server in
            server.namespace("/").onDisconnect { _, reason in reasons.continuation.yield(reason) }
        } _: { fixture in
            let client = try await fixture.polling()
            #expect(try await client.post("40").body == "ok")
            let padding = String(repeating: "x", count: 6_000)
            for _ in 0..<3 { fixture.server.namespace("/").emit("n", SocketArguments(json: "\"\(padding)\"")) }
            var iterator = reasons.stream.makeAsyncIterator()
            #expect(await iterator.next() == .transportError)
            #expect(try await client.fetch().status == 400)
        }
    }

    @Test("Requests of a socket run in order, and only a limited number is read ahead", arguments: [1, 3])
    func queuedCalls(loops: Int) async throws {
        let gate = AsyncStream<Void>.makeStream()
        let taken = Mutex(0)
        try await withServer(loops: loops) { settings in
            settings.limits.queuedCalls = 4
        } namespaces: { server in
            server.namespace("/").on("work") { socket, event in
                taken.withLock { $0 += 1 }
                socket.perform {
                    if event.arguments[0] == ByteBuffer(string: "0") { for await _ in gate.stream { break } }
                    event.acknowledgement?(event.arguments)
                }
            }
        } _: { fixture in
            let socket = try await fixture.joined()
            let count = 200
            for number in 0..<count { try await socket.send("42\(number)[\"work\",\(number)]") }
            // Another socket is served twice meanwhile, so the server has had time to read from the first one.
            let other = try await fixture.joined()
            for _ in 0..<2 {
                try await other.send(#"42["message"]"#)
                #expect(try await other.text() == #"42["message-back"]"#)
            }
            // One running call and four queued calls.
            #expect(taken.withLock { $0 } <= 5)
            gate.continuation.finish()
            for number in 0..<count { #expect(try await socket.text() == "43\(number)[\(number)]") }
        }
    }

    @Test("A running handler ends after its socket has disconnected")
    func queuedEventsRunAfterDisconnect() async throws {
        let done = AsyncStream<Bool>.makeStream()
        let gone = AsyncStream<Void>.makeStream()
        try await withServer { _ in
        } namespaces: { server in
            server.namespace("/").on("work") { socket, _ in
                socket.perform {
                    for await _ in gone.stream { break }
                    done.continuation.yield(socket.isConnected)
                }
            }
            server.namespace("/").onDisconnect { _, _ in gone.continuation.finish() }
        } _: { fixture in
            let socket = try await fixture.joined()
            try await socket.send(#"42["work"]"#)
            try await socket.send("1")
            var iterator = done.stream.makeAsyncIterator()
            #expect(await iterator.next() == false)
        }
    }
}
