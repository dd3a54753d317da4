import NIOCore
import Testing

@testable import GatewayServer

/// WebSockets, opened as in RFC 6455; after the handshake the bytes pass unread.
@Suite("Tunnels") struct TunnelTests {
    private static let request =
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, Upgrade\r\n"
        + "upgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
    private static let agreement =
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
        + "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    /// Accepts a WebSocket, sends the first bytes in the same packet, and echoes what it receives.
    private static let echo: ScriptedService.Script = { connection, service in
        service.record(try #require(try await connection.message()))
        try await connection.send(agreement + "hello")
        while let piece = try await connection.piece() { try await connection.send(piece) }
        service.record(bytes: 1)
        connection.finishSending()
    }

    private func open(_ fixture: GatewayFixture, _ body: (RawConnection) async throws -> Void) async throws {
        try await fixture.connect { connection in
            try await connection.send(Self.request)
            let response = try #require(try await connection.message())
            #expect(response.status == 101)
            #expect(response["sec-websocket-accept"] == ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="])
            #expect(response["upgrade"] == ["websocket"])
            #expect(response["connection"] == ["Upgrade"])
            #expect(try await connection.text(5) == "hello")
            try await body(connection)
        }
    }

    @Test("Bytes pass in both directions")
    func bothDirections() async throws {
        try await withGateway(script: Self.echo) { fixture in
            try await open(fixture) { connection in
                for word in ["one", "two\r\n\r\nGET / HTTP/1.1\r\n\r\n"] {
                    try await connection.send(word)
                    #expect(try await connection.text(word.utf8.count) == word)
                }
            }
            let forwarded = try #require(fixture.service.requests.first)
            #expect(forwarded["upgrade"] == ["websocket"])
            #expect(forwarded["connection"] == ["Upgrade"])
            #expect(forwarded["sec-websocket-key"] == ["dGhlIHNhbXBsZSBub25jZQ=="])
            #expect(forwarded["x-roost-instance"].count == 1)
        }
    }

    @Test("Bytes before the handshake's end pass too")
    func earlyFrames() async throws {
        try await withGateway(script: Self.echo) { fixture in
            try await fixture.connect { connection in
                try await connection.send(Self.request + "early")
                #expect(try await connection.message()?.status == 101)
                let both = try await connection.text(10)
                #expect(both == "helloearly")
            }
        }
    }

    @Test("A half-closed tunnel delivers the rest")
    func halfClose() async throws {
        try await withGateway(script: Self.echo) { fixture in
            try await open(fixture) { connection in
                try await connection.send("last words")
                connection.finishSending()
                #expect(try await connection.rest() == "last words")
            }
            try await eventually { fixture.service.received == 1 }
        }
    }

    @Test("A client that disconnects closes the connection to the service")
    func clientDisconnect() async throws {
        try await withGateway(script: Self.echo) { fixture in
            try await open(fixture) { _ in }
            try await eventually { fixture.service.received == 1 }
        }
    }

    @Test("A service that disconnects closes the connection to the client")
    func serviceDisconnect() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(Self.agreement + "hello")
            try await connection.close()
        }) { fixture in
            try await open(fixture) { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test("A client that does not read stops the service, and the gateway buffers little")
    func backpressure() async throws {
        try await withGateway(
            settings: { $0.receiveBuffer = 65_536 },
            script: { connection, service in
                _ = try await connection.message()
                try await connection.send(Self.agreement)
                let piece = Array(repeating: UInt8(0x78), count: 65_536)
                service.record(bytes: try await connection.sendUntilStuck(piece, most: 20_000_000))
            }
        ) { fixture in
            try await RawConnection.openUnread(port: fixture.port, sending: Self.request) {
                try await eventually { fixture.service.received > 0 }
            }
            #expect(fixture.service.received < 12_000_000)
        }
    }

    @Test("A refused upgrade leaves the connection usable")
    func refusedUpgrade() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                // The echo of the service supports no WebSocket, and neither do the other paths.
                try await connection.send(Self.request)
                #expect(try await connection.message()?.status == 200)
                try await connection.send(Self.request.replacing("/socket.io/", with: "/nowhere/"))
                #expect(try await connection.message()?.status == 404)
                try await connection.send(Self.request.replacing("/socket.io/", with: "/conversations"))
                #expect(try await connection.message()?.status == 403)
                try await connection.send(fixture.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
            }
        }
    }

    @Test("A 101 to a request without an upgrade is a 502")
    func unrequested101() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(Self.agreement)
            _ = try await connection.rest()
        }) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response.status == 502)
        }
    }

    @Test("An idle tunnel is closed")
    func idleTunnel() async throws {
        try await withGateway(settings: { $0.streamIdleTimeout = .milliseconds(300) }, script: Self.echo) { fixture in
            try await open(fixture) { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test("A gateway that stops closes its tunnels")
    func drainClosesTunnels() async throws {
        try await withGateway(script: Self.echo) { fixture in
            try await open(fixture) { connection async throws in
                async let stopped: Void = fixture.gateway.stop()
                #expect(try await connection.rest() == "")
                await stopped
            }
            try await eventually { fixture.service.received == 1 }
        }
    }
}
