import NIOCore
import Testing

@testable import GatewayServer

/// HTTP/2 with well-behaved clients.
@Suite("HTTP/2") struct HTTP2Tests {
    @Test("A request is forwarded as HTTP/1.1")
    func forwardedAsHTTP1() async throws {
        try await withTLSGateway(settings: { $0.hstsSeconds = 60 }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let claim = [("x-forwarded-for", "9.9.9.9")]
                let response = try await client.perform("GET /conversations?limit=2", fields: claim)
                #expect(response.status == 200)
                #expect(response.forwarded.startLine == "GET /conversations?limit=2 HTTP/1.1")
                #expect(response.forwarded["x-forwarded-host"] == ["example.org"])
                #expect(response.forwarded["x-forwarded-proto"] == ["https"])
                #expect(response.forwarded["x-forwarded-for"] == ["127.0.0.1"])
                #expect(response["x-request-id"] == response.forwarded["x-request-id"])
                #expect(response["strict-transport-security"] == ["max-age=60"])
                #expect(response["connection"].isEmpty)
                #expect(response["transfer-encoding"].isEmpty)
                // The last frame with data also ends the stream.
                #expect(response.frames == [RawFrame.Kind.headers, RawFrame.Kind.data])
            }
        }
    }

    @Test("A body is forwarded with its length, or in chunks if the length is unknown")
    func bodyLength() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let known = try await client.perform(
                    "POST /conversations/create",
                    fields: [("content-length", "5")],
                    body: Array("hello".utf8)
                )
                #expect(known.forwarded["content-length"] == ["5"])
                #expect(known.forwarded.text == "hello")
                // A DELETE with a body of unknown length must not be forwarded without framing.
                for method in ["POST /conversations/create", "DELETE /auth/me"] {
                    let unknown = try await client.perform(method, body: Array("hello".utf8))
                    #expect(unknown.forwarded["transfer-encoding"] == ["chunked"])
                    #expect(unknown.forwarded.text == "hello")
                }
                let none = try await client.perform("POST /conversations/create")
                #expect(none.forwarded["content-length"] == ["0"])
            }
        }
    }

    @Test("Several cookie fields are joined")
    func cookiesAreJoined() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let response = try await client.perform(
                    "GET /conversations",
                    fields: [("cookie", "a=1"), ("cookie", "b=2")]
                )
                #expect(response.forwarded["cookie"] == ["a=1; b=2"])
            }
        }
    }

    @Test("Streams of one connection are served concurrently")
    func concurrentStreams() async throws {
        try await withTLSGateway(script: { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                // No response is sent before all requests have arrived.
                while service.requests.count < 50 { try await Task.sleep(for: .milliseconds(2)) }
                try await connection.send(ScriptedService.response(request.target))
            }
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                var streams: [UInt32] = []
                for number in 0..<50 { streams.append(try await client.begin("GET /conversations?n=\(number)")) }
                for (number, stream) in streams.enumerated() {
                    #expect(try await client.response(on: stream).text == "/conversations?n=\(number)")
                }
            }
        }
    }

    @Test("Large bodies pass in both directions within the windows")
    func largeBodies() async throws {
        let body = Pattern.bytes(atLeast: 400_000)
        try await withTLSGateway(script: { connection, _ in
            while let request = try await connection.message() {
                try await connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                try await connection.send(chunks: request.body, of: 33_333)
            }
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let stream = try await client.begin("POST /conversations/create", ends: false)
                var window = 65_535
                var sent = 0
                while sent < body.count {
                    let piece = min(16_384, window, body.count - sent)
                    if piece == 0 {
                        let update = try #require(try await client.frame(of: RawFrame.Kind.windowUpdate))
                        if update.stream == stream {
                            window += update.payload.reduce(0) { $0 << 8 | Int($1) }
                        }
                        continue
                    }
                    try await client.send(.data(stream, Array(body[sent..<sent + piece])))
                    sent += piece
                    window -= piece
                }
                try await client.send(.data(stream, [], ends: true))
                #expect(try await client.response(on: stream).body == body)
            }
        }
    }

    @Test("Trailers of a response are forwarded")
    func responseTrailers() async throws {
        try await withTLSGateway(script: { connection, _ in
            while try await connection.message() != nil {
                try await connection.send(
                    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\n"
                )
            }
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let response = try await client.perform("GET /conversations")
                #expect(response.text == "hi")
                #expect(response.trailers.map(\.name) == ["x-sum"])
            }
        }
    }

    @Test("A response without a body ends with its header")
    func bodylessResponses() async throws {
        try await withTLSGateway(script: { connection, _ in
            while let request = try await connection.message() {
                let response =
                    request.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n" : "HTTP/1.1 204 No Content\r\n\r\n"
                try await connection.send(response)
            }
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let head = try await client.perform("HEAD /conversations")
                #expect(head.status == 200)
                #expect(head["content-length"] == ["7"])
                #expect(head.body.isEmpty)
                #expect(head.frames == [RawFrame.Kind.headers])
                #expect(try await client.perform("GET /conversations").status == 204)
            }
        }
    }

    @Test("The gateway's own responses and errors leave the connection usable")
    func gatewayResponses() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                #expect(try await client.perform("GET /health").status == 200)
                #expect(try await client.perform("GET /openapi.yaml").text == GatewayFixture.document)
                let unknown = try await client.perform("GET /internal/users")
                #expect(unknown.status == 404)
                #expect(unknown.code == "not_found")
                #expect(unknown["x-request-id"].count == 1)
                #expect(try await client.perform("GET /conversations//x").status == 400)
                let unsigned = try await client.perform(client.request("GET /conversations", isSigned: false))
                #expect(unsigned.status == 403)
                #expect(try await client.perform("PUT /conversations").status == 405)
                // A refused stream does not affect others.
                #expect(try await client.perform("GET /conversations").status == 200)
            }
        }
    }

    @Test("The gateway answers 100 Continue itself")
    func expectContinue() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let fields = [("expect", "100-continue"), ("content-length", "2")]
                let stream = try await client.begin("POST /conversations/create", fields: fields, ends: false)
                let interim = try #require(try await client.frame(of: RawFrame.Kind.headers))
                #expect(interim.stream == stream)
                #expect(interim.flags & RawFrame.endStream == 0)
                try await client.send(.data(stream, Array("hi".utf8), ends: true))
                #expect(try await client.response(on: stream).status == 200)
            }
        }
    }

    @Test("A response before the end of the body ends the stream without an error")
    func earlyResponse() async throws {
        try await withTLSGateway(settings: { $0.bodyLimit = 1_000 }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let stream = try await client.begin("POST /conversations/create", ends: false)
                try await client.send(.data(stream, Array(repeating: 0x78, count: 2_000)))
                #expect(try await client.response(on: stream).status == 413)
                // The rest of the body is not needed, which is not an error.
                let reset = try #require(try await client.frame(of: RawFrame.Kind.reset))
                #expect(reset.stream == stream)
                #expect(reset.code == 0)
                #expect(try await client.perform("GET /conversations").status == 200)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("A response that the service breaks off resets the stream")
    func brokenResponse() async throws {
        try await withTLSGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")
            try await connection.close()
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let response = try await client.perform("GET /conversations")
                #expect(response.reset != nil)
            }
        }
    }

    @Test("A reset stream ends the request to the service")
    func resetCancelsRequest() async throws {
        try await withTLSGateway(script: { connection, service in
            service.record(try #require(try await connection.message()))
            _ = try await connection.rest()
            service.record(bytes: 1)
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let stream = try await client.begin("GET /conversations")
                try await eventually { fixture.service.requests.count == 1 }
                try await client.send(.reset(stream))
                try await eventually { fixture.service.received == 1 }
                #expect(try await client.perform("GET /health").status == 200)
            }
        }
    }

    @Test("A connection beyond the limit gets a 503 if all others are busy")
    func connectionsBeyondLimit() async throws {
        try await withTLSGateway(
            settings: { $0.connectionLimit = 1 },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.response("done"))
                }
            }
        ) { fixture async throws in
            try await HTTP2Client.open(fixture) { first async throws in
                let stream = try await first.begin("GET /conversations")
                try await eventually { fixture.service.requests.count == 1 }
                try await HTTP2Client.open(fixture) { second async throws in
                    #expect(try await second.perform("GET /conversations").status == 503)
                    #expect(try await second.awaitGoAway() == 0)
                }
                fixture.service.record(bytes: 1)
                #expect(try await first.response(on: stream).text == "done")
            }
        }
    }

    // MARK: End of a connection

    @Test("A gateway that stops announces it, finishes its streams and takes no new ones")
    func drainFinishesStreams() async throws {
        try await withTLSGateway(
            settings: { $0.drainTimeout = .seconds(30) },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.response("done"))
                }
            }
        ) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let first = try await client.begin("GET /conversations")
                try await eventually { fixture.service.requests.count == 1 }
                async let stopped: Void = fixture.gateway.stop()
                let firstGoAway = try #require(try await client.frame(of: RawFrame.Kind.goAway))
                #expect(firstGoAway.code == 0)
                #expect(firstGoAway.payload.prefix(4) == [0x7F, 0xFF, 0xFF, 0xFF])
                let last = try #require(try await client.frame(of: RawFrame.Kind.goAway))
                #expect(last.code == 0)
                #expect(last.payload.prefix(4) == RawFrame.integer(first)[...])
                // A later request is not served, and GOAWAY has told the client so.
                try await client.begin("GET /conversations")
                fixture.service.record(bytes: 1)
                #expect(try await client.response(on: first).text == "done")
                await stopped
                #expect(try await client.frame() == nil)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("An idle connection gets a GOAWAY and ends")
    func idleConnection() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                // Set only now, because a slow machine may need longer for the connection preface.
                try await fixture.reconfigure { $0.idleTimeout = .milliseconds(300) }
                #expect(try await client.awaitGoAway() == 0)
                // No request is served after that, and the connection ends.
                while try await client.frame() != nil {}
            }
        }
    }

    @Test("A stream that is not read for too long is reset, and the connection stays usable")
    func slowReader() async throws {
        try await withTLSGateway(
            settings: { $0.sendTimeout = .milliseconds(300) },
            script: { connection, _ in
                while try await connection.message() != nil {
                    try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n")
                    _ = try await connection.sendUntilStuck(Array(repeating: 0x78, count: 65_536), most: 20_000_000)
                }
            }
        ) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                client.opensWindows = false
                let stuck = try await client.begin("GET /conversations")
                #expect(try await client.response(on: stuck).reset != nil)
                #expect(try await client.perform("GET /health").status == 200)
            }
        }
    }
}
