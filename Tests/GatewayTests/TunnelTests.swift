import NIOCore
import Testing

@testable import GatewayServer

/// A WebSocket is opened as RFC 6455 says; what comes after its handshake goes through unread.
@Suite struct TunnelTests {
    private static let request =
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, Upgrade\r\n"
        + "upgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
    private static let agreement =
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
        + "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    /// Agrees to a WebSocket, says hello in the same breath, and sends back whatever comes.
    private static let echo: ScriptedService.Script = { connection, service in
        service.note(try #require(try await connection.message()))
        try await connection.send(agreement + "hello")
        while let piece = try await connection.piece() { try await connection.send(piece) }
        service.note(bytes: 1)
        connection.finishSending()
    }

    private func open(_ scene: GatewayScene, _ body: (RawConnection) async throws -> Void) async throws {
        try await scene.connect { connection in
            try await connection.send(Self.request)
            let answer = try #require(try await connection.message())
            #expect(answer.status == 101)
            #expect(answer["sec-websocket-accept"] == ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="])
            #expect(answer["upgrade"] == ["websocket"])
            #expect(answer["connection"] == ["Upgrade"])
            #expect(try await connection.text(5) == "hello")
            try await body(connection)
        }
    }

    @Test func bytesGoThroughBothWays() async throws {
        try await withGateway(script: Self.echo) { scene in
            try await open(scene) { connection in
                for word in ["one", "two\r\n\r\nGET / HTTP/1.1\r\n\r\n"] {
                    try await connection.send(word)
                    #expect(try await connection.text(word.utf8.count) == word)
                }
            }
            let seen = try #require(scene.service.requests.first)
            #expect(seen["upgrade"] == ["websocket"])
            #expect(seen["connection"] == ["Upgrade"])
            #expect(seen["sec-websocket-key"] == ["dGhlIHNhbXBsZSBub25jZQ=="])
            #expect(seen["x-roost-instance"].count == 1)
        }
    }

    @Test func framesSentWithTheHandshakeAreNotLost() async throws {
        try await withGateway(script: Self.echo) { scene in
            try await scene.connect { connection in
                try await connection.send(Self.request + "early")
                #expect(try await connection.message()?.status == 101)
                let both = try await connection.text(10)
                #expect(both == "helloearly")
            }
        }
    }

    @Test func theEndOfOneSideIsTheEndOfItsHalf() async throws {
        try await withGateway(script: Self.echo) { scene in
            try await open(scene) { connection in
                try await connection.send("last words")
                connection.finishSending()
                #expect(try await connection.rest() == "last words")
            }
            try await eventually { scene.service.received == 1 }
        }
    }

    @Test func aClientThatIsGoneTakesItsTunnelAlong() async throws {
        try await withGateway(script: Self.echo) { scene in
            try await open(scene) { _ in }
            try await eventually { scene.service.received == 1 }
        }
    }

    @Test func aServiceThatIsGoneTakesItsTunnelAlong() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(Self.agreement + "hello")
            try await connection.close()
        }) { scene in
            try await open(scene) { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test func aReaderThatStopsStopsTheOtherSide() async throws {
        try await withGateway(
            settings: { $0.receiveBuffer = 65_536 },
            script: { connection, service in
                _ = try await connection.message()
                try await connection.send(Self.agreement)
                let piece = Array(repeating: UInt8(0x78), count: 65_536)
                service.note(bytes: try await connection.sendUntilStuck(piece, most: 20_000_000))
            }
        ) { scene in
            try await RawConnection.openUnread(port: scene.port, sending: Self.request) {
                try await eventually { scene.service.received > 0 }
            }
            #expect(scene.service.received < 12_000_000)
        }
    }

    @Test func aRefusedUpgradeIsAnsweredLikeAnyRequest() async throws {
        try await withGateway { scene in
            try await scene.connect { connection in
                // The service's echo knows no WebSocket; nor do the paths after it.
                try await connection.send(Self.request)
                #expect(try await connection.message()?.status == 200)
                try await connection.send(Self.request.replacing("/socket.io/", with: "/nowhere/"))
                #expect(try await connection.message()?.status == 404)
                try await connection.send(Self.request.replacing("/socket.io/", with: "/conversations"))
                #expect(try await connection.message()?.status == 403)
                try await connection.send(scene.signed("GET /conversations"))
                #expect(try await connection.message()?.status == 200)
            }
        }
    }

    @Test func a101ThatNobodyAskedForIs502() async throws {
        try await withGateway(script: { connection, _ in
            _ = try await connection.message()
            try await connection.send(Self.agreement)
            _ = try await connection.rest()
        }) { scene in
            let answer = try await scene.get("/conversations")
            #expect(answer.status == 502)
        }
    }

    @Test func aTunnelNobodyUsesIsClosed() async throws {
        try await withGateway(settings: { $0.silenceTimeout = .milliseconds(300) }, script: Self.echo) { scene in
            try await open(scene) { connection async throws in
                #expect(try await connection.rest() == "")
            }
        }
    }

    @Test func tunnelsAreClosedWhenTheGatewayStops() async throws {
        try await withGateway(script: Self.echo) { scene in
            try await open(scene) { connection async throws in
                async let stopped: Void = scene.gateway.stop()
                #expect(try await connection.rest() == "")
                await stopped
            }
            try await eventually { scene.service.received == 1 }
        }
    }
}
