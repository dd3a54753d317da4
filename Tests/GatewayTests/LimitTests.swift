import NIOCore
import Testing

@testable import GatewayServer

/// Requests that are too large or too slow are refused with a response, and the gateway keeps working.
@Suite("Limits of requests") struct LimitTests {
    /// Sends as much of `pieces` as the gateway reads, then reads the response.
    private func response(_ fixture: GatewayFixture, to pieces: [String]) async throws -> RawMessage {
        try await fixture.connect { connection in
            for piece in pieces {
                do { try await connection.send(piece) } catch { break }
            }
            return try #require(try await connection.message())
        }
    }

    @Test("Too many or too long header fields are a 431")
    func headerLimits() async throws {
        try await withGateway { fixture in
            let start = "GET /conversations HTTP/1.1\r\nhost: a\r\n"
            let many = (0..<10_000).map { "x-\($0): 1\r\n" }.joined()
            let some = (0..<201).map { "x-\($0): 1\r\n" }.joined()
            let long = "x: \(String(repeating: "a", count: 1_000_000))\r\n"
            for fields in [many, some, long] {
                let response = try await response(fixture, to: [start, fields, "\r\n"])
                #expect(response.status == 431)
                #expect(response.code == "headers_too_large")
            }
            let fit = (0..<190).map { "x-\($0): 1\r\n" }.joined()
            #expect(try await fixture.get("/conversations", fields: fit).status == 200)
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("A target that is too long is a 414")
    func targetTooLong() async throws {
        try await withGateway { fixture in
            let response = try await fixture.get("/conversations?q=\(String(repeating: "a", count: 17_000))")
            #expect(response.status == 414)
            let parameters = (0..<100_000).map { "a\($0)=1" }.joined(separator: "&")
            #expect(try await fixture.get("/conversations?\(parameters)").status == 431)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("A declared length over the limit is a 413 before the body is read")
    func declaredBodyTooLarge() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyLimit = 100_000
        }) { fixture in
            let fields = "content-length: 100001\r\n"
            let response = try await fixture.perform(fixture.signed("POST /conversations/create", fields: fields))
            #expect(response.status == 413)
            #expect(response["connection"] == ["close"])
            #expect(fixture.service.requests.isEmpty)
            let fit = String(repeating: "x", count: 100_000)
            let most = fixture.signed("POST /conversations/create", fields: "content-length: 100000\r\n", body: fit)
            #expect(try await fixture.perform(most).status == 200)
        }
    }

    @Test("A chunked body over the limit is a 413")
    func streamedBodyTooLarge() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyLimit = 100_000
        }) { fixture in
            let head = fixture.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\n")
            let chunk = "4000\r\n\(String(repeating: "x", count: 0x4000))\r\n"
            let response = try await response(fixture, to: [head] + Array(repeating: chunk, count: 40))
            #expect(response.status == 413)
            // The connection to the service broke off, so the service never received a whole request.
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("Too many chunk extensions are a 400")
    func chunkExtensions() async throws {
        try await withGateway { fixture in
            let head = fixture.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\n")
            let chunk = "1;\(String(repeating: "e", count: 16_000))\r\nx\r\n"
            let response = try await response(fixture, to: [head] + Array(repeating: chunk, count: 20))
            #expect(response.status == 400)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("A head that takes too long is a 408")
    func slowHead() async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(200)
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send("GET /conversations HTTP/1.1\r\nhost: ")
                let response = try #require(try await connection.message())
                #expect(response.status == 408)
                #expect(try await connection.rest() == "")
            }
            // A later request on the connection has no more time than the first.
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
                try await connection.send("GET /con")
                #expect(try await connection.message()?.status == 408)
            }
        }
    }

    @Test(
        "A pipelined request that stays incomplete is a 408",
        arguments: [
            ["GET /conversations", "GE"], ["GET /conversations", "GET /conversations HTTP/1.1\r\nhost: a\r\n"],
            ["POST /conversations/create", "P"], ["GET /nowhere", "G"],
        ]
    )
    func partialNextRequest(requests: [String]) async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(200)
        }) { fixture in
            try await fixture.connect { connection in
                let isPost = requests[0].hasPrefix("POST")
                let fields = isPost ? "content-length: 3\r\n" : ""
                // Both are in one packet, so the second begins before the first has its response.
                let first = fixture.signed(requests[0], fields: fields, body: isPost ? "abc" : "")
                try await connection.send(first + requests[1])
                #expect(try await connection.message()?.status == (requests[0].contains("nowhere") ? 404 : 200))
                #expect(try await connection.message()?.status == 408)
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test("A connection may be idle for longer than a head may take")
    func keepAlive() async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(100)
        }) { fixture in
            try await fixture.connect { connection in
                for body in ["abc", "a\r\n\r\n", ""] {
                    let fields = "content-length: \(body.utf8.count)\r\n"
                    try await connection.send(fixture.signed("POST /conversations/create", fields: fields, body: body))
                    #expect(try await connection.message()?.status == 200)
                    // Longer than a head may take.
                    try await Task.sleep(for: .milliseconds(300))
                }
            }
        }
    }

    @Test("An idle connection is closed")
    func idleConnection() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
                // Set only now, because a slow machine may need longer to send its first request.
                try await fixture.reconfigure { $0.idleTimeout = .milliseconds(700) }
                #expect(try await connection.rest() == "")
            }
            try await fixture.connect { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test("A body that stalls is a 408")
    func stalledBody() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(200)
        }) { fixture async throws in
            let head = fixture.signed("POST /conversations/create", fields: "content-length: 10\r\n")
            #expect(try await fixture.perform(head + "abc").status == 408)
        }
    }

    @Test("A body below the minimum rate is a 408")
    func slowBody() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(200)
            configuration.bodyMinRate = 1_000
        }) { fixture in
            let request = fixture.signed("POST /conversations/create", fields: "content-length: 1000\r\n")
            try await fixture.connect { connection in
                try await connection.send(request)
                // A byte every 20 ms never reaches the idle timeout, but is far below the minimum rate.
                let channel = connection.channel
                let trickle = channel.eventLoop.scheduleRepeatedTask(
                    initialDelay: .milliseconds(20),
                    delay: .milliseconds(20)
                ) { _ in
                    channel.writeAndFlush(ByteBuffer(string: "x"), promise: nil)
                }
                let response = try await connection.message()
                trickle.cancel()
                #expect(response?.status == 408)
            }
        }
    }

    @Test("Bytes that are sent early give the rest of a body no extra time")
    func earlyBytes() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(500)
            configuration.bodyMinRate = 1_000
        }) { fixture in
            let early = String(repeating: "x", count: 100_000)
            let fields = "content-length: 100500\r\n"
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("POST /conversations/create", fields: fields, body: early))
                // At this rate the body would be complete after 10 s, and its early bytes would allow 100 s.
                let channel = connection.channel
                let trickle = channel.eventLoop.scheduleRepeatedTask(
                    initialDelay: .milliseconds(20),
                    delay: .milliseconds(20)
                ) { _ in
                    channel.writeAndFlush(ByteBuffer(string: "x"), promise: nil)
                }
                let response = try await connection.message()
                trickle.cancel()
                #expect(response?.status == 408)
            }
        }
    }

    @Test("A service that does not respond in time is a 504")
    func responseTimeout504() async throws {
        try await withGateway(
            settings: { configuration in
                configuration.responseTimeout = .milliseconds(200)
            },
            script: { connection, service in
                while let request = try await connection.message() { service.record(request) }
            }
        ) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response.status == 504)
            #expect(response.code == "gateway_timeout")
        }
    }

    @Test("A service that is down is a 503 with Retry-After")
    func serviceDown() async throws {
        try await withGateway(settings: { configuration in
            // No process listens on the discard port.
            configuration.services = try UpstreamService.suite.map { name, prefixes, _ in
                try UpstreamService(name: name, prefixes: prefixes, urls: ["http://127.0.0.1:9"])
            }
        }) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response.status == 503)
            #expect(response["retry-after"] == ["1"])
            #expect(response.code == "unavailable")
        }
    }

    @Test("A connection beyond the limit gets a 503 if all others are busy")
    func connectionsBeyondLimit() async throws {
        try await withGateway(
            settings: { $0.connectionLimit = 1 },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.response("done"))
                }
            }
        ) { fixture in
            try await fixture.connect { first in
                try await first.send(fixture.signed("GET /conversations"))
                try await eventually { fixture.service.requests.count == 1 }
                let response = try await fixture.get("/conversations")
                #expect(response.status == 503)
                #expect(response.code == "too_many_connections")
                fixture.service.record(bytes: 1)
                #expect(try await first.message()?.status == 200)
            }
        }
    }

    @Test("A request beyond the connections to a service is a 503")
    func upstreamLimit() async throws {
        try await withGateway(
            settings: { configuration in
                configuration.upstreamConnectionLimit = 1
            },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    if request.target.hasSuffix("?wait") { _ = try await connection.rest() }
                    try await connection.send(ScriptedService.response(""))
                }
            }
        ) { fixture in
            try await fixture.connect { first in
                try await first.send(fixture.signed("GET /conversations?wait"))
                try await eventually { fixture.service.requests.count == 1 }
                #expect(try await fixture.get("/conversations").status == 503)
            }
        }
    }
}
