import Locks
import NIOCore
import Synchronization
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

    /// The kernel may say of a port what no new connection cures; who is deaf is no use to those who watch it.
    @Test func whoIsHeardByNobodyAnyMoreEnds() async throws {
        try await withGateway { scene in
            let gateway = GatewayService(
                configuration: scene.gateway.edge.configuration,
                credentials: scene.verifier,
                document: try OpenAPIDocument(GatewayScene.document),
                logger: scene.gateway.edge.logger
            )
            let running = Task { try await gateway.run() }
            try await eventually { gateway.port != nil }
            gateway.listener.withLock { $0 }?.close(promise: nil)
            await #expect(throws: ListenerClosed.self) { try await running.value }
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
