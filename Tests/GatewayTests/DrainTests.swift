import Locks
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

@Suite struct DrainTests {
    @Test func drainFinishesRequests() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .seconds(60) },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    // Answers once the gateway has been told to stop.
                    while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.response("done"))
                }
            }
        ) { fixture in
            try await fixture.connect { idle in
                try await fixture.connect { busy in
                    try await busy.send(fixture.signed("GET /conversations"))
                    try await eventually { fixture.service.requests.count == 1 }
                    async let stopped: Void = fixture.gateway.stop()
                    #expect(try await idle.rest() == "")
                    await #expect(throws: (any Error).self) { try await fixture.get("/conversations") }
                    fixture.service.record(bytes: 1)
                    let response = try #require(try await busy.message())
                    #expect(response.text == "done")
                    #expect(response["connection"] == ["close"])
                    await stopped
                    #expect(try await busy.rest() == "")
                }
            }
        }
    }

    /// The kernel may say of a port what no new connection cures; who is deaf is no use to those who watch it.
    @Test func closedListenerEndsRun() async throws {
        try await withGateway { fixture in
            let gateway = GatewayService(
                configuration: fixture.gateway.state.configuration,
                credentials: fixture.verifier,
                document: try OpenAPIDocument(GatewayFixture.document),
                logger: fixture.gateway.state.logger
            )
            let running = Task { try await gateway.run() }
            try await eventually { gateway.port != nil }
            gateway.listener.withLock { $0 }?.close(promise: nil)
            await #expect(throws: ListenerClosed.self) { try await running.value }
        }
    }

    @Test func unfinishedRequests() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .milliseconds(100) },
            script: { connection, service in
                service.record(try #require(try await connection.message()))
                _ = try await connection.rest()
            }
        ) { fixture in
            try await fixture.connect { busy in
                try await busy.send(fixture.signed("GET /conversations"))
                try await eventually { fixture.service.requests.count == 1 }
                await fixture.gateway.stop()
                #expect(try await busy.rest() == "")
            }
        }
    }
}
