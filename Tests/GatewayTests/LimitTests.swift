import NIOCore
import Testing

@testable import GatewayServer

/// What is too much or too slow is refused with a written answer, and the gateway goes on.
@Suite struct LimitTests {
    /// Sends as much of `pieces` as is taken, then reads the answer.
    private func response(_ fixture: GatewayFixture, to pieces: [String]) async throws -> RawMessage {
        try await fixture.connect { connection in
            for piece in pieces {
                do { try await connection.send(piece) } catch { break }
            }
            return try #require(try await connection.message())
        }
    }

    @Test func headerLimits() async throws {
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

    @Test func targetTooLong() async throws {
        try await withGateway { fixture in
            let response = try await fixture.get("/conversations?q=\(String(repeating: "a", count: 17_000))")
            #expect(response.status == 414)
            let parameters = (0..<100_000).map { "a\($0)=1" }.joined(separator: "&")
            #expect(try await fixture.get("/conversations?\(parameters)").status == 431)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test func declaredBodyTooLarge() async throws {
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

    @Test func streamedBodyTooLarge() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyLimit = 100_000
        }) { fixture in
            let head = fixture.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\n")
            let chunk = "4000\r\n\(String(repeating: "x", count: 0x4000))\r\n"
            let response = try await response(fixture, to: [head] + Array(repeating: chunk, count: 40))
            #expect(response.status == 413)
            // Its connection to the service broke off, so the service never saw a whole request.
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test func chunkExtensions() async throws {
        try await withGateway { fixture in
            let head = fixture.signed("POST /conversations/create", fields: "transfer-encoding: chunked\r\n")
            let chunk = "1;\(String(repeating: "e", count: 16_000))\r\nx\r\n"
            let response = try await response(fixture, to: [head] + Array(repeating: chunk, count: 20))
            #expect(response.status == 400)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test func slowHead() async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(200)
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send("GET /conversations HTTP/1.1\r\nhost: ")
                let response = try #require(try await connection.message())
                #expect(response.status == 408)
                #expect(try await connection.rest() == "")
            }
            // Having been answered before gives no more time than the first request has.
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
                try await connection.send("GET /con")
                #expect(try await connection.message()?.status == 408)
            }
        }
    }

    @Test(arguments: [
        ["GET /conversations", "GE"], ["GET /conversations", "GET /conversations HTTP/1.1\r\nhost: a\r\n"],
        ["POST /conversations/create", "P"], ["GET /nowhere", "G"],
    ])
    func partialNextRequest(requests: [String]) async throws {
        try await withGateway(settings: { configuration in
            configuration.headerTimeout = .milliseconds(200)
        }) { fixture in
            try await fixture.connect { connection in
                let isPost = requests[0].hasPrefix("POST")
                let fields = isPost ? "content-length: 3\r\n" : ""
                // Both are in one packet, so the second has begun before the first was answered.
                let first = fixture.signed(requests[0], fields: fields, body: isPost ? "abc" : "")
                try await connection.send(first + requests[1])
                #expect(try await connection.message()?.status == (requests[0].contains("nowhere") ? 404 : 200))
                #expect(try await connection.message()?.status == 408)
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test func keepAlive() async throws {
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

    @Test func idleConnection() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
                // Not earlier, else whoever is held up before it asks is closed already.
                try await fixture.reconfigure { $0.idleTimeout = .milliseconds(700) }
                #expect(try await connection.rest() == "")
            }
            try await fixture.connect { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test func stalledBody() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(200)
        }) { fixture async throws in
            let head = fixture.signed("POST /conversations/create", fields: "content-length: 10\r\n")
            #expect(try await fixture.perform(head + "abc").status == 408)
        }
    }

    @Test func slowBody() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(200)
            configuration.bodyMinRate = 1_000
        }) { fixture in
            let request = fixture.signed("POST /conversations/create", fields: "content-length: 1000\r\n")
            try await fixture.connect { connection in
                try await connection.send(request)
                // A byte every 20 ms never lets the idle limit pass, but is far below the floor.
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

    @Test("Bytes sent early buy no time for the rest of a body")
    func earlyBytes() async throws {
        try await withGateway(settings: { configuration in
            configuration.bodyTimeout = .milliseconds(500)
            configuration.bodyMinRate = 1_000
        }) { fixture in
            let early = String(repeating: "x", count: 100_000)
            let fields = "content-length: 100500\r\n"
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("POST /conversations/create", fields: fields, body: early))
                // At a byte every 20 ms the body would be whole after 10 s, and 100 s were earned by what came at once.
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

    @Test func responseTimeout504() async throws {
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

    @Test func serviceDown() async throws {
        try await withGateway(settings: { configuration in
            // Nothing listens on the discard port.
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

    @Test("A connection beyond the limit gets 503 where every other is busy")
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

    @Test func upstreamLimit() async throws {
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
