import Foundation
import NIOCore
import SocketIO
import Testing

@testable import SocketIOClient

@Suite("Connection", .timeLimit(.minutes(5))) struct ConnectionTests {
    private static func echo(_ namespace: Namespace) {
        namespace.on("say") { socket, event in
            socket.emit("said", event.arguments)
            event.acknowledgement?(event.arguments)
        }
    }

    @Test("Events and acknowledgements keep their arguments, and a closed connection ends its events")
    func emitAndAcknowledge() async throws {
        try await withServer(namespace: Self.echo) { fixture in
            let connection = try await fixture.connect()
            #expect(!connection.id.isEmpty)
            let said = [#"{"a":[1,"],\"",{"b":null}]}"#, "\"😀 ☃\"", "-1.5e3"]
            let answer = try await connection.request("say", json(said[0]), json(said[1]), json(said[2]))
            #expect(texts(answer) == said)
            #expect(texts(try await connection.request("say")) == [])
            var events = connection.events.makeAsyncIterator()
            #expect(try await events.next() == SocketIOEvent(name: "said", arguments: said.map(json)))
            #expect(try await events.next() == SocketIOEvent(name: "said", arguments: []))
            await connection.close()
            await #expect(throws: SocketIOClientError.closed(.byClient)) { try await events.next() }
        }
    }

    @Test("Acknowledgements in another order reach their own requests")
    func acknowledgementOrder() async throws {
        let first = HeldAcknowledgement()
        try await withServer { namespace in
            namespace.on("slow") { _, event in first.hold(event.acknowledgement) }
            namespace.on("fast") { _, event in
                event.acknowledgement?(json: "\"fast\"")
                first.release("\"slow\"")
            }
        } _: { fixture in
            let connection = try await fixture.connect()
            async let slow = connection.request("slow")
            try await first.held()
            #expect(texts(try await connection.request("fast")) == ["\"fast\""])
            #expect(texts(try await slow) == ["\"slow\""])
            await connection.close()
        }
    }

    @Test("An unanswered request ends by its timeout or when the connection closes")
    func unansweredRequest() async throws {
        try await withServer(namespace: { $0.on("silent") { _, _ in } }) { fixture in
            let connection = try await fixture.connect()
            await #expect(throws: SocketIOClientError.timedOut) {
                try await connection.request("silent", timeout: .milliseconds(50))
            }
            let open = Task { try await connection.request("silent", timeout: .seconds(30)) }
            await connection.close()
            await #expect(throws: SocketIOClientError.closed(.byClient)) { try await open.value }
            await #expect(throws: SocketIOClientError.closed(.byClient)) { try await connection.emit("more") }
        }
    }

    @Test("The client acknowledges an event of the server")
    func serverRequest() async throws {
        let (answers, answered) = AsyncStream.makeStream(of: String.self)
        try await withServer { namespace in
            namespace.on("ask") { socket, _ in
                socket.perform {
                    do {
                        let answer = try await socket.emit(
                            "question",
                            SocketArguments(json: "7"),
                            timeout: .seconds(10)
                        )
                        answered.yield(String(buffer: answer.json))
                    } catch {
                        answered.yield("\(error)")
                    }
                }
            }
        } _: { fixture in
            let connection = try await fixture.connect()
            try await connection.emit("ask")
            var events = connection.events.makeAsyncIterator()
            let question = try #require(try await events.next())
            #expect(question.name == "question")
            #expect(texts(question.arguments) == ["7"])
            try await connection.acknowledge(question, json("\"yes\""))
            var iterator = answers.makeAsyncIterator()
            #expect(await iterator.next() == "\"yes\"")
            await connection.close()
        }
    }

    @Test("The server receives the auth data and can reject the connection with data")
    func auth() async throws {
        try await withServer { namespace in
            namespace.onConnect { _, handshake in
                String(buffer: handshake.auth) == #"{"token":"good"}"#
                    ? .accept
                    : .refuse(ConnectRefusal("who are you?", data: ByteBuffer(string: #"{"code":403}"#)))
            }
        } _: { fixture in
            await fixture.connectedAndClosed(auth: #"{"token":"good"}"#)
            let refused = SocketIOClientError.refused(message: "who are you?", data: json(#"{"code":403}"#))
            await #expect(throws: refused) { try await fixture.connect(auth: #"{"token":"bad"}"#) }
        }
    }

    @Test("A refused handshake, a closed port and an invalid URL throw their own errors")
    func unreachableServer() async throws {
        try await withServer({ $0.allowRequest = { _, _ in false } }, namespace: { _ in }) { fixture in
            await #expect(throws: SocketIOClientError.refusedByHTTP(403)) { try await fixture.connect() }
            var elsewhere = fixture.endpoint
            elsewhere.path = "/nothing/"
            await #expect(throws: SocketIOClientError.refusedByHTTP(404)) {
                try await SocketIOConnection.connect(to: elsewhere)
            }
        }
        let unusedServer = try await RunningServer.start { _ in }
        let endpoint = try unusedServer.endpoint()
        try await unusedServer.stop()
        let unreachable = SocketIOClientError.unreachable("nobody answers at 127.0.0.1:\(endpoint.port)")  // prose-ok
        await #expect(throws: unreachable) {
            try await SocketIOConnection.connect(to: endpoint)
        }
        #expect(throws: SocketIOClientError.badURL("ftp://x")) { try SocketIOEndpoint("ftp://x") }
    }

    @Test("The client answers pings, and closes when the server sends none")
    func heartbeat() async throws {
        try await withServer {
            $0.pingInterval = .milliseconds(100)
            // Longer than a thread or the process may wait on a busy machine.
            $0.pingTimeout = .seconds(6)
        } namespace: { namespace in
            namespace.on("well?") { _, event in event.acknowledgement?(json: "true") }
        } _: { fixture in
            let connection = try await fixture.connect()
            let end = ContinuousClock.now + .seconds(7)
            while ContinuousClock.now < end { _ = try await connection.request("well?") }
            #expect(fixture.server.connectionCount == 1)
            await connection.close()
        }
        let silentServer = try await SilentServer.start()
        let connection = try await SocketIOConnection.connect(
            to: try SocketIOEndpoint("http://127.0.0.1:\(silentServer.port)")
        )
        var events = connection.events.makeAsyncIterator()
        await #expect(throws: SocketIOClientError.closed(.silent)) { try await events.next() }
        await connection.closed()
        try await silentServer.stop()
    }

    @Test("A message above the server's limit is not sent; one within the client's limit is received")
    func messageSize() async throws {
        try await withServer(
            {
                $0.maxPayload = 8 << 20
                $0.limits.bufferedBytes = 32 << 20
            },
            namespace: Self.echo
        ) { fixture in
            let connection = try await fixture.connect()
            let large = json("\"\(String(repeating: "x", count: 4 << 20))\"")
            #expect(try await connection.request("say", large, timeout: .seconds(120)) == [large])
            let tooLarge = json("\"\(String(repeating: "x", count: 8 << 20))\"")
            await #expect(throws: SocketIOClientError.messageTooLarge) { try await connection.request("say", tooLarge) }
            #expect(texts(try await connection.request("say", json("1"))) == ["1"])
            await connection.close()

            // A message from the server is limited too; this one is just below the limit.
            var limited = fixture.endpoint
            limited.maximumMessage = 1_024
            let other = try await SocketIOConnection.connect(to: limited)
            try await other.emit("say", json("\"\(String(repeating: "x", count: 1_000))\""))
            var events = other.events.makeAsyncIterator()
            #expect(try await events.next()?.name == "said")
            await other.close()
        }
    }

    @Test("A message that does not fit into the send queue is rejected")
    func queueLimit() async throws {
        try await withServer(namespace: Self.echo) { fixture in
            var endpoint = fixture.endpoint
            endpoint.maximumQueue = 10
            let connection = try await SocketIOConnection.connect(to: endpoint)
            await #expect(throws: SocketIOClientError.tooMuchWaiting) {
                try await connection.emit("say", json("123456"))
            }
            await connection.close()
        }
    }

    @Test("A reader that starts late receives all events in order")
    func slowReader() async throws {
        let count = 5_000
        try await withServer(
            { $0.limits.bufferedBytes = 64 << 20 },
            namespace: { namespace in
                namespace.on("burst") { socket, _ in
                    for number in 0..<count { socket.emit("number", SocketArguments(json: "\(number)")) }
                }
            }
        ) { fixture in
            let connection = try await fixture.connect()
            try await connection.emit("burst")
            var next = 0
            for try await event in connection.events {
                #expect(texts(event.arguments) == ["\(next)"])
                next += 1
                if next == count { break }
            }
            #expect(next == count)
            await connection.close()
        }
    }
}

extension Fixture {
    func connectedAndClosed(auth: String) async {
        do {
            try await connect(auth: auth).close()
        } catch {
            Issue.record(error)
        }
    }
}
