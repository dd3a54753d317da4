import Synchronization
import Testing

@testable import GatewayServer

/// A service may close an idle connection just as the gateway uses it again.
@Suite("Retries") struct RetryTests {
    /// Responds to the first request of the first connection, and closes that connection on the second request.
    private static func stale() -> ScriptedService.Script {
        let first = Mutex(true)
        return { connection, service in
            let isFirst = first.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            while let request = try await connection.message() {
                service.record(request)
                if isFirst, service.requests.count > 1 {
                    try await connection.close()
                    return
                }
                try await connection.send(ScriptedService.response("fine"))
            }
        }
    }

    @Test(
        "An idempotent request on a stale connection is retried with the same request id",
        arguments: ["GET /conversations", "DELETE /conversations/x"]
    )
    func retriesIdempotent(line: String) async throws {
        try await withGateway(script: Self.stale()) { fixture in
            #expect(try await fixture.get("/conversations").status == 200)
            let response = try await fixture.perform(fixture.signed(line))
            #expect(response.status == 200)
            let lines = ["GET /conversations HTTP/1.1", "\(line) HTTP/1.1", "\(line) HTTP/1.1"]
            #expect(fixture.service.requests.map(\.startLine) == lines)
            #expect(fixture.service.requests[1]["x-request-id"] == fixture.service.requests[2]["x-request-id"])
        }
    }

    @Test(
        "A request that is not idempotent or has a body is not retried",
        arguments: [("POST /conversations/create", ""), ("PUT /conversations/x/meta", "{}")]
    )
    func noRetryOfOthers(line: String, body: String) async throws {
        try await withGateway(script: Self.stale()) { fixture in
            #expect(try await fixture.get("/conversations").status == 200)
            let fields = "content-length: \(body.utf8.count)\r\n"
            let response = try await fixture.perform(fixture.signed(line, fields: fields, body: body))
            #expect(response.status == 502)
            #expect(fixture.service.requests.count == 2)
        }
    }

    @Test("A request on a new connection is not retried")
    func brokenFreshConnection() async throws {
        try await withGateway(script: { connection, service in
            service.record(try #require(try await connection.message()))
            try await connection.close()
        }) { fixture async throws in
            #expect(try await fixture.get("/conversations").status == 502)
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("A request whose response has begun is not retried")
    func noRetryAfterResponseBegan() async throws {
        let count = Mutex(0)
        try await withGateway(script: { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number > 1 {
                    try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
                    try await connection.close()
                    return
                }
                try await connection.send(ScriptedService.response("fine"))
            }
        }) { fixture async throws in
            #expect(try await fixture.get("/conversations").status == 200)
            await #expect(throws: WireError.self) { try await fixture.get("/conversations") }
            #expect(fixture.service.requests.count == 2)
        }
    }

    @Test("A request to an instance that is down goes to another")
    func instanceDown() async throws {
        try await withGateway(settings: { configuration in
            configuration.services = try configuration.services.map { service in
                try UpstreamService(
                    name: service.name,
                    prefixes: service.prefixes,
                    urls: ["http://127.0.0.1:9", service.instances[0].url]
                )
            }
        }) { fixture async throws in
            for _ in 0..<4 { #expect(try await fixture.get("/conversations").status == 200) }
        }
    }

    @Test("Requests go to the instances in turn")
    func roundRobin() async throws {
        try await withGateway(settings: { configuration in
            configuration.services = try configuration.services.map { service in
                let url = service.instances[0].url
                return try UpstreamService(
                    name: service.name,
                    prefixes: service.prefixes,
                    urls: [url, url.replacing("127.0.0.1", with: "localhost")]
                )
            }
        }) { fixture in
            for _ in 0..<4 { _ = try await fixture.get("/conversations") }
            #expect(Set(fixture.service.requests.flatMap { $0["x-roost-instance"] }).count == 2)
            #expect(Set(fixture.service.requests.flatMap { $0["host"] }).count == 2)
        }
    }
}
