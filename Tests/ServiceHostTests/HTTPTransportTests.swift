import ChildProcesses
import HTTPTypes
import ServiceClient
import TestSupport
import Testing

@testable import ServiceHost

/// Calls to a neighbour of which not every instance is there.
@Suite struct HTTPTransportTests {
    @Test func anInstanceThatIsAwayIsPassedOver() async throws {
        try await EventFixture().withSubscriber { listener in
            try await listener.served { port in
                let unusedPort = try LoopbackPort.free().number
                let client = ServiceClient(
                    callee: "listener",
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

    @Test func recoveredInstance() async throws {
        try await EventFixture().withSubscriber { listener in
            let port = try LoopbackPort.free().number
            let transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"])
            let client = ServiceClient(callee: "listener", transport: transport, retry: .never)
            await #expect(throws: (any Error).self) {
                try await client.send(.get, "/health", timeout: .milliseconds(200))
            }
            let asking = Task { try await client.send(.get, "/health", timeout: .seconds(60)).status }
            let status = try await listener.served(on: port) { _ in try await asking.value }
            #expect(status == 200)
        }
    }
}
