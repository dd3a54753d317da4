import NIOCore
import Testing

@testable import GatewayServer

/// Many clients that are idle or read slowly do not delay others.
@Suite("Idle clients") struct IdleTests {
    /// Opens `count` connections.
    private func connections(_ count: Int, to fixture: GatewayFixture, isSecure: Bool) async throws -> [RawConnection] {
        try await withThrowingTaskGroup(of: RawConnection.Opened.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await RawConnection.Opened(port: fixture.port, over: isSecure ? ["http/1.1"] : nil)
                }
            }
            return try await group.reduce(into: []) { $0.append($1.connection()) }
        }
    }

    @Test("Hundreds of idle connections stay usable", arguments: [true, false])
    func idleConnections(isSecure: Bool) async throws {
        try await withGateway(settings: { configuration in
            if isSecure { configuration.certificates = try ServerCertificate(TestCertificate.a) }
            // So many concurrent handshakes slow each other down.
            configuration.headerTimeout = .minutes(2)
            configuration.addressConnectionLimit = 0
        }) { fixture async throws in
            let waiting = try await connections(300, to: fixture, isSecure: isSecure)
            for round in 0..<2 {
                for connection in waiting {
                    try await connection.send(fixture.signed("GET /conversations?round=\(round)"))
                }
                for connection in waiting {
                    #expect(try await connection.message()?.status == 200)
                }
            }
            for connection in waiting { try await connection.close() }
        }
    }

    @Test("Slow readers use only the kernel's buffers, and other clients are served")
    func slowReader() async throws {
        try await withTLSGateway(
            settings: { $0.receiveBuffer = 65_536 },
            script: { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    guard request.target.hasSuffix("large") else {
                        try await connection.send(ScriptedService.response(""))
                        continue
                    }
                    try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 50000000\r\n\r\n")
                    let piece = Array(repeating: UInt8(0x78), count: 65_536)
                    service.record(bytes: try await connection.sendUntilStuck(piece, most: 50_000_000))
                    _ = try await connection.rest()
                }
            }
        ) { fixture async throws in
            let slow = try await connections(10, to: fixture, isSecure: true)
            for connection in slow { try await connection.send(fixture.signed("GET /conversations?large")) }
            try await eventually { fixture.service.requests.count == 10 }
            for _ in 0..<20 {
                try await fixture.connectTLS { connection async throws in
                    try await connection.send(fixture.signed("GET /conversations"))
                    #expect(try await connection.message()?.status == 200)
                }
            }
            // The unread part of each response is in the kernel's buffers, and little more.
            #expect(fixture.service.received < 10 * 12_000_000)
            for connection in slow { connection.channel.close(promise: nil) }
        }
    }
}
