import ChildProcesses
import HTTPTypes
import ServiceClient
import TestSupport
import Testing

@testable import ServiceHost

/// Calls to a peer service of which some instances are unavailable.
@Suite("HTTP between services") struct HTTPTransportTests {
    @Test("An unavailable instance is skipped")
    func unavailableInstance() async throws {
        try await EventFixture().withSubscriber { subscriber in
            try await subscriber.served { port in
                let unusedPort = try LoopbackPort.free().number
                let client = ServiceClient(
                    callee: "subscriber",
                    transport: HTTPTransport(baseURLs: ["http://127.0.0.1:\(unusedPort)", "http://127.0.0.1:\(port)"]),
                    retry: .never
                )
                for _ in 0..<20 {
                    let answer = try await client.send(.get, "/health", timeout: .seconds(60))
                    #expect(answer.status == 200)
                }
            }
        }
    }

    @Test("A call waits until the instance is up again")
    func recoveredInstance() async throws {
        try await EventFixture().withSubscriber { subscriber in
            let port = try LoopbackPort.free().number
            let transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
            let client = ServiceClient(callee: "subscriber", transport: transport, retry: .never)
            await #expect(throws: (any Error).self) {
                try await client.send(.get, "/health", timeout: .milliseconds(200))
            }
            let call = Task { try await client.send(.get, "/health", timeout: .seconds(60)).status }
            let status = try await subscriber.served(on: port) { _ in try await call.value }
            #expect(status == 200)
        }
    }
}
