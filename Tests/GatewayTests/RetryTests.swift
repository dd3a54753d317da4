import Synchronization
import Testing

@testable import GatewayServer

/// A kept connection may have been closed by the service just as it is used again.
@Suite struct RetryTests {
    /// Answers the first request of its first connection, and closes that one when the second has come.
    private static func stale() -> ScriptedService.Script {
        let first = Mutex(true)
        return { connection, service in
            let isFirst = first.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            while let request = try await connection.message() {
                service.note(request)
                if isFirst, service.requests.count > 1 {
                    try await connection.close()
                    return
                }
                try await connection.send(ScriptedService.answer("fine"))
            }
        }
    }

    @Test(arguments: ["GET /conversations", "DELETE /conversations/x"])
    func whatMayBeDoneTwiceIsSentAgain(line: String) async throws {
        try await withGateway(script: Self.stale()) { scene in
            #expect(try await scene.get("/conversations").status == 200)
            let answer = try await scene.ask(scene.signed(line))
            #expect(answer.status == 200)
            let lines = ["GET /conversations HTTP/1.1", "\(line) HTTP/1.1", "\(line) HTTP/1.1"]
            #expect(scene.service.requests.map(\.startLine) == lines)
            #expect(scene.service.requests[1]["x-request-id"] == scene.service.requests[2]["x-request-id"])
        }
    }

    @Test(arguments: [("POST /conversations/create", ""), ("PUT /conversations/x/meta", "{}")])
    func whatMayNotBeDoneTwiceIsNot(line: String, body: String) async throws {
        try await withGateway(script: Self.stale()) { scene in
            #expect(try await scene.get("/conversations").status == 200)
            let fields = "content-length: \(body.utf8.count)\r\n"
            let answer = try await scene.ask(scene.signed(line, fields: fields, body: body))
            #expect(answer.status == 502)
            #expect(scene.service.requests.count == 2)
        }
    }

    @Test func aFreshConnectionThatBreaksIsNotTriedAgain() async throws {
        try await withGateway(script: { connection, service in
            service.note(try #require(try await connection.message()))
            try await connection.close()
        }) { scene async throws in
            #expect(try await scene.get("/conversations").status == 502)
            #expect(scene.service.requests.count == 1)
        }
    }

    @Test func anAnswerThatBeganIsNotAskedForAgain() async throws {
        let count = Mutex(0)
        try await withGateway(script: { connection, service in
            while let request = try await connection.message() {
                service.note(request)
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number > 1 {
                    try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
                    try await connection.close()
                    return
                }
                try await connection.send(ScriptedService.answer("fine"))
            }
        }) { scene async throws in
            #expect(try await scene.get("/conversations").status == 200)
            await #expect(throws: WireError.self) { try await scene.get("/conversations") }
            #expect(scene.service.requests.count == 2)
        }
    }

    @Test func anInstanceThatIsDownIsPassedOver() async throws {
        try await withGateway(settings: { configuration in
            configuration.services = try configuration.services.map { service in
                try UpstreamService(
                    name: service.name,
                    prefixes: service.prefixes,
                    urls: ["http://127.0.0.1:9", service.instances[0].url]
                )
            }
        }) { scene async throws in
            for _ in 0..<4 { #expect(try await scene.get("/conversations").status == 200) }
        }
    }

    @Test func instancesTakeTurnsUnderTheirOwnNames() async throws {
        try await withGateway(settings: { configuration in
            configuration.services = try configuration.services.map { service in
                let url = service.instances[0].url
                return try UpstreamService(
                    name: service.name,
                    prefixes: service.prefixes,
                    urls: [url, url.replacing("127.0.0.1", with: "localhost")]
                )
            }
        }) { scene in
            for _ in 0..<4 { _ = try await scene.get("/conversations") }
            #expect(Set(scene.service.requests.flatMap { $0["x-roost-instance"] }).count == 2)
            #expect(Set(scene.service.requests.flatMap { $0["host"] }).count == 2)
        }
    }
}
