import Locks
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Draining") struct DrainTests {
    @Test("A gateway that stops finishes its requests and takes no new ones")
    func drainFinishesRequests() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .seconds(60) },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    // Responds once the gateway has begun to stop.
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

    /// If the kernel closes the listening socket, the process must end so that its supervisor restarts it.
    @Test("A closed listener ends the run")
    func closedListenerEndsRun() async throws {
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

    @Test("Requests that exceed the drain timeout are cut off")
    func unfinishedRequests() async throws {
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
