import NIOCore
import Testing

@testable import GatewayServer

/// HTTP/2 as clients speak it that mean well.
@Suite struct HTTP2Tests {
    @Test func aRequestReachesItsServiceAsHTTP1() async throws {
        try await withSecureGateway(settings: { $0.strictTransportSeconds = 60 }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let claim = [("x-forwarded-for", "9.9.9.9")]
                let answer = try await client.ask("GET /conversations?limit=2", fields: claim)
                #expect(answer.status == 200)
                #expect(answer.seen.startLine == "GET /conversations?limit=2 HTTP/1.1")
                #expect(answer.seen["x-forwarded-host"] == ["example.org"])
                #expect(answer.seen["x-forwarded-proto"] == ["https"])
                #expect(answer.seen["x-forwarded-for"] == ["127.0.0.1"])
                #expect(answer["x-request-id"] == answer.seen["x-request-id"])
                #expect(answer["strict-transport-security"] == ["max-age=60"])
                #expect(answer["connection"].isEmpty && answer["transfer-encoding"].isEmpty)
                // Its last piece says that it is the last.
                #expect(answer.frames == [RawFrame.Kind.headers, RawFrame.Kind.data])
            }
        }
    }

    @Test func bodiesGoOnWithTheLengthThatTheyHave() async throws {
        try await withSecureGateway { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let known = try await client.ask(
                    "POST /conversations/create",
                    fields: [("content-length", "5")],
                    body: Array("hello".utf8)
                )
                #expect(known.seen["content-length"] == ["5"])
                #expect(known.seen.text == "hello")
                // A DELETE with a body whose length was not told must not be left without a frame around it.
                for method in ["POST /conversations/create", "DELETE /auth/me"] {
                    let unknown = try await client.ask(method, body: Array("hello".utf8))
                    #expect(unknown.seen["transfer-encoding"] == ["chunked"])
                    #expect(unknown.seen.text == "hello")
                }
                let none = try await client.ask("POST /conversations/create")
                #expect(none.seen["content-length"] == ["0"])
            }
        }
    }

    @Test func cookiesAreOneFieldAgain() async throws {
        try await withSecureGateway { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let answer = try await client.ask("GET /conversations", fields: [("cookie", "a=1"), ("cookie", "b=2")])
                #expect(answer.seen["cookie"] == ["a=1; b=2"])
            }
        }
    }

    @Test func streamsAreAnsweredSideBySide() async throws {
        try await withSecureGateway(script: { connection, service in
            while let request = try await connection.message() {
                service.note(request)
                // Nobody is answered before all are there.
                while service.requests.count < 50 { try await Task.sleep(for: .milliseconds(2)) }
                try await connection.send(ScriptedService.answer(request.target))
            }
        }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                var streams: [UInt32] = []
                for number in 0..<50 { streams.append(try await client.begin("GET /conversations?n=\(number)")) }
                for (number, stream) in streams.enumerated() {
                    #expect(try await client.answer(on: stream).text == "/conversations?n=\(number)")
                }
            }
        }
    }

    @Test func largeBodiesGoThroughTheirWindows() async throws {
        let body = Pattern.bytes(atLeast: 400_000)
        try await withSecureGateway(script: { connection, _ in
            while let request = try await connection.message() {
                try await connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                try await connection.send(chunks: request.body, of: 33_333)
            }
        }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
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
                #expect(try await client.answer(on: stream).body == body)
            }
        }
    }

    @Test func trailersOfAnAnswerArrive() async throws {
        try await withSecureGateway(script: { connection, _ in
            while try await connection.message() != nil {
                try await connection.send(
                    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-sum: 1\r\n\r\n"
                )
            }
        }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let answer = try await client.ask("GET /conversations")
                #expect(answer.text == "hi")
                #expect(answer.trailers.map(\.name) == ["x-sum"])
            }
        }
    }

    @Test func headHasNoBodyAndNeitherHas204() async throws {
        try await withSecureGateway(script: { connection, _ in
            while let request = try await connection.message() {
                let answer =
                    request.method == "HEAD"
                    ? "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n" : "HTTP/1.1 204 No Content\r\n\r\n"
                try await connection.send(answer)
            }
        }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let head = try await client.ask("HEAD /conversations")
                #expect(head.status == 200 && head["content-length"] == ["7"] && head.body.isEmpty)
                #expect(head.frames == [RawFrame.Kind.headers])
                #expect(try await client.ask("GET /conversations").status == 204)
            }
        }
    }

    @Test func ourOwnPagesAndRefusalsAreAnswered() async throws {
        try await withSecureGateway { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                #expect(try await client.ask("GET /health").status == 200)
                #expect(try await client.ask("GET /openapi.yaml").text == GatewayScene.document)
                let unknown = try await client.ask("GET /internal/users")
                #expect(unknown.status == 404 && unknown.code == "not_found")
                #expect(unknown["x-request-id"].count == 1)
                #expect(try await client.ask("GET /conversations//x").status == 400)
                let unsigned = try await client.ask(client.request("GET /conversations", isSigned: false))
                #expect(unsigned.status == 403)
                #expect(try await client.ask("PUT /conversations").status == 405)
                // A stream that was refused leaves the others alone.
                #expect(try await client.ask("GET /conversations").status == 200)
            }
        }
    }

    @Test func whoExpectsToBeToldGoesOnWhenTold() async throws {
        try await withSecureGateway { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let fields = [("expect", "100-continue"), ("content-length", "2")]
                let stream = try await client.begin("POST /conversations/create", fields: fields, ends: false)
                let told = try #require(try await client.frame(of: RawFrame.Kind.headers))
                #expect(told.stream == stream && told.flags & RawFrame.endStream == 0)
                try await client.send(.data(stream, Array("hi".utf8), ends: true))
                #expect(try await client.answer(on: stream).status == 200)
            }
        }
    }

    @Test func anEarlyAnswerIsWholeAndEndsTheRequest() async throws {
        try await withSecureGateway(settings: { $0.bodyLimit = 1_000 }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let stream = try await client.begin("POST /conversations/create", ends: false)
                try await client.send(.data(stream, Array(repeating: 0x78, count: 2_000)))
                #expect(try await client.answer(on: stream).status == 413)
                // The rest is not wanted, which is no error.
                let reset = try #require(try await client.frame(of: RawFrame.Kind.reset))
                #expect(reset.stream == stream && reset.code == 0)
                #expect(try await client.ask("GET /conversations").status == 200)
            }
            #expect(scene.service.requests.count == 1)
        }
    }

    @Test func anAnswerThatBreaksOffIsNotMadeWhole() async throws {
        try await withSecureGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")
            try await connection.close()
        }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let answer = try await client.ask("GET /conversations")
                #expect(answer.reset != nil)
            }
        }
    }

    @Test func aStreamThatIsResetTakesItsRequestAlong() async throws {
        try await withSecureGateway(script: { connection, service in
            service.note(try #require(try await connection.message()))
            _ = try await connection.rest()
            service.note(bytes: 1)
        }) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let stream = try await client.begin("GET /conversations")
                try await eventually { scene.service.requests.count == 1 }
                try await client.send(.reset(stream))
                try await eventually { scene.service.received == 1 }
                #expect(try await client.ask("GET /health").status == 200)
            }
        }
    }

    @Test("A connection beyond the limit gets 503 where every other is busy")
    func tooManyConnectionsAreToldSo() async throws {
        try await withSecureGateway(
            settings: { $0.connectionLimit = 1 },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.answer("done"))
                }
            }
        ) { scene async throws in
            try await HTTP2Client.open(scene) { first async throws in
                let stream = try await first.begin("GET /conversations")
                try await eventually { scene.service.requests.count == 1 }
                try await HTTP2Client.open(scene) { second async throws in
                    #expect(try await second.ask("GET /conversations").status == 503)
                    #expect(try await second.goodbye() == 0)
                }
                scene.service.note(bytes: 1)
                #expect(try await first.answer(on: stream).text == "done")
            }
        }
    }

    // MARK: The end

    @Test func whatIsUnderWayFinishesBeforeTheGatewayStops() async throws {
        try await withSecureGateway(
            settings: { $0.drainTimeout = .seconds(30) },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.answer("done"))
                }
            }
        ) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                let first = try await client.begin("GET /conversations")
                try await eventually { scene.service.requests.count == 1 }
                async let stopped: Void = scene.gateway.stop()
                let goodbye = try #require(try await client.frame(of: RawFrame.Kind.goAway))
                #expect(goodbye.code == 0 && goodbye.payload.prefix(4) == [0x7F, 0xFF, 0xFF, 0xFF])
                let last = try #require(try await client.frame(of: RawFrame.Kind.goAway))
                #expect(last.code == 0 && last.payload.prefix(4) == RawFrame.integer(first)[...])
                // Whoever comes later is not heard, and knows it.
                try await client.begin("GET /conversations")
                scene.service.note(bytes: 1)
                #expect(try await client.answer(on: first).text == "done")
                await stopped
                #expect(try await client.frame() == nil)
            }
            #expect(scene.service.requests.count == 1)
        }
    }

    @Test func aConnectionWithoutStreamsIsClosedAfterAWhile() async throws {
        try await withSecureGateway { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                // Not earlier, else whoever is held up before he has said hello finds it closed.
                try await scene.reconfigure { $0.idleTimeout = .milliseconds(300) }
                #expect(try await client.goodbye() == 0)
                // Whatever is said after it: no request is heard any more, and the connection ends.
                while try await client.frame() != nil {}
            }
        }
    }

    @Test func aStreamWhoseClientDoesNotReadIsReset() async throws {
        try await withSecureGateway(
            settings: { $0.sendTimeout = .milliseconds(300) },
            script: { connection, _ in
                while try await connection.message() != nil {
                    try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n")
                    _ = try await connection.sendUntilStuck(Array(repeating: 0x78, count: 65_536), most: 20_000_000)
                }
            }
        ) { scene async throws in
            try await HTTP2Client.open(scene) { client async throws in
                client.opensWindows = false
                let stuck = try await client.begin("GET /conversations")
                #expect(try await client.answer(on: stuck).reset != nil)
                #expect(try await client.ask("GET /health").status == 200)
            }
        }
    }
}
