import Credentials
import HTTPTypes
import ServiceClient
import ServiceHost
import TestSupport
import Testing

/// Connections to the outside.
@Suite("Outbound connections") struct OutsideConnectionsTests {
    @Test("A response that stalls is an error after the read timeout")
    func readTimeout() async throws {
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))
        try await TestService.with(EchoService.self, peers: .with(["auth": auth])) { service in
            try await service.served { port in
                let connections = try OutboundConnections(trustedCA: nil, readTimeout: .milliseconds(500))
                let transport = HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"], client: connections.open)
                let known = ServiceRequest(method: .get, path: "/open", timeout: .seconds(60))
                let endless = ServiceRequest(method: .get, path: "/endless", timeout: .seconds(60))
                #expect(try await transport.send(known).status == 200)
                await #expect(throws: TransportFailure.unanswered) { try await transport.send(endless) }
                await connections.shutdown()
            }
        }
    }
}
