import NIOCore
import ServiceHost
import Testing

@testable import GatewayServer

/// One address cannot take all connections.
@Suite("Connection limits") struct ConnectionLimitTests {
    private func perform(_ fixture: GatewayFixture, from address: String) async throws -> RawMessage {
        try await RawConnection.open(port: fixture.port, from: address) { connection in
            try await connection.send(fixture.signed("GET /conversations"))
            return try #require(try await connection.message())
        }
    }

    /// Opens connections that have had one response each and are idle.
    private func idle(_ count: Int, _ fixture: GatewayFixture, from address: String) async throws -> [RawConnection] {
        var idle: [RawConnection] = []
        for _ in 0..<count {
            let connection = try await RawConnection.Opened(port: fixture.port, from: address).connection()
            try await connection.send(fixture.signed("GET /conversations"))
            #expect(try await connection.message()?.status == 200)
            idle.append(connection)
        }
        return idle
    }

    private func close(_ connections: [RawConnection]) {
        for connection in connections { connection.channel.close(promise: nil) }
    }

    @Test("An address at its limit is refused, and another address is served")
    func perAddress() async throws {
        try await withGateway(settings: { $0.addressConnectionLimit = 3 }) { fixture async throws in
            let taken = try await idle(3, fixture, from: "127.0.0.1")

            let refused = try await perform(fixture, from: "127.0.0.1")

            #expect(refused.status == 429)
            #expect(refused.code == "too_many_connections")
            #expect(refused["connection"] == ["close"])
            #expect(try await perform(fixture, from: "127.0.0.2").status == 200)
            close(taken)
            try await eventually { fixture.gateway.state.connections.count == 0 }
            #expect(try await perform(fixture, from: "127.0.0.1").status == 200)
        }
    }

    @Test("With a limit of 0 or from a trusted proxy, connections are not limited by address", arguments: [0, 1])
    func exempt(limit: Int) async throws {
        try await withGateway(settings: { configuration in
            configuration.addressConnectionLimit = limit
            if limit > 0 { configuration.trustedProxies = .loopback }
        }) { fixture async throws in
            close(try await idle(5, fixture, from: "127.0.0.1"))
        }
    }

    @Test("Idle connections of the address with the most are closed for a new client")
    func idleFirst() async throws {
        try await withGateway(settings: { configuration in
            configuration.connectionLimit = 40
            configuration.addressConnectionLimit = 0
        }) { fixture async throws in
            // The oldest connection, and the only one of its address.
            let single = try await idle(1, fixture, from: "127.0.0.2")
            let many = try await idle(60, fixture, from: "127.0.0.1")

            for _ in 0..<5 { #expect(try await perform(fixture, from: "127.0.0.3").status == 200) }

            try await single[0].send(fixture.signed("GET /conversations"))
            #expect(try await single[0].message()?.status == 200)
            #expect(fixture.gateway.state.connections.count <= 40)
            close(single + many)
        }
    }

    @Test("Connections of one IPv6 /64 count as one address")
    func prefixes() {
        #expect(ClientKey.address("2001:db8:1:2::1") == ClientKey.address("2001:db8:1:2:ffff::9"))
        #expect(ClientKey.address("2001:db8:1:2::1") != ClientKey.address("2001:db8:1:3::1"))
    }
}
