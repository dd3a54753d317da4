import NIOCore
import Testing

@testable import GatewayServer

@Suite struct DrainTests {
    @Test func whatIsUnderWayFinishesAndNothingElseBegins() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .seconds(60) },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    // Answers once the gateway has been told to stop.
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.answer("done"))
                }
            }
        ) { scene in
            try await scene.connect { idle in
                try await scene.connect { busy in
                    try await busy.send(scene.signed("GET /conversations"))
                    try await eventually { scene.service.requests.count == 1 }
                    async let stopped: Void = scene.gateway.stop()
                    #expect(try await idle.rest() == "")
                    await #expect(throws: (any Error).self) { try await scene.get("/conversations") }
                    scene.service.note(bytes: 1)
                    let answer = try #require(try await busy.message())
                    #expect(answer.text == "done")
                    #expect(answer["connection"] == ["close"])
                    await stopped
                    #expect(try await busy.rest() == "")
                }
            }
        }
    }

    @Test func whatDoesNotFinishIsCutOff() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .milliseconds(100) },
            script: { connection, service in
                service.note(try #require(try await connection.message()))
                _ = try await connection.rest()
            }
        ) { scene in
            try await scene.connect { busy in
                try await busy.send(scene.signed("GET /conversations"))
                try await eventually { scene.service.requests.count == 1 }
                await scene.gateway.stop()
                #expect(try await busy.rest() == "")
            }
        }
    }
}
