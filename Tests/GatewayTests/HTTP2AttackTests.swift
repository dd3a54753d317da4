import NIOCore
import Testing

@testable import GatewayServer

/// Hostile HTTP/2 clients: each loses its own connection or stream, and other clients are served.
@Suite("HTTP/2 attacks") struct HTTP2AttackTests {
    /// ENHANCE_YOUR_CALM.
    private static let calm: UInt32 = 11

    /// Sends a little more than one connection may, and expects it to end with `code` while another is served.
    private func flood(
        _ fixture: GatewayFixture,
        code: UInt32? = calm,
        _ frames: (HTTP2Client) throws -> [RawFrame]
    ) async throws {
        try await HTTP2Client.open(fixture) { other async throws in
            #expect(try await other.perform("GET /conversations").status == 200)
            try await HTTP2Client.open(fixture) { client async throws in
                try await client.send(try frames(client))
                let ended = try await client.awaitGoAway()
                #expect(ended == code)
                while try await client.frame() != nil {}
            }
            #expect(try await other.perform("GET /conversations").status == 200)
        }
    }

    @Test("Rapid reset ends the connection")
    func rapidReset() async throws {
        try await withTLSGateway { fixture async throws in
            try await flood(fixture) { client in
                try (0..<110).flatMap { _ in
                    let headers = try client.headers(client.request("GET /conversations"))
                    return [headers, .reset(headers.stream)]
                }
            }
            // Each request may have opened a connection to the service, but those end with the attack.
            #expect(fixture.service.requests.count <= 112)
        }
    }

    /// The client makes the server reset the streams.
    @Test("Provoked resets end the connection")
    func madeYouResetAttack() async throws {
        try await withTLSGateway { fixture async throws in
            try await flood(fixture) { client in
                try (0..<110).flatMap { _ in
                    let headers = try client.headers(client.request("GET /conversations"))
                    return [headers, .windowUpdate(headers.stream, by: 0)]
                }
            }
        }
    }

    @Test("A flood of continuation frames ends the connection")
    func continuationFlood() async throws {
        try await withTLSGateway { fixture async throws in
            try await flood(fixture) { client in
                var start = try client.headers(client.request("GET /conversations"))
                start.flags = RawFrame.endStream
                let next = RawFrame(kind: RawFrame.Kind.continuation, stream: start.stream, payload: [])
                return [start] + Array(repeating: next, count: 8)
            }
        }
    }

    @Test(
        "A flood of control frames ends the connection",
        arguments: [RawFrame.Kind.ping, RawFrame.Kind.settings, RawFrame.Kind.priority]
    )
    func controlFrames(kind: UInt8) async throws {
        let payload: [UInt8] =
            switch kind {
            case RawFrame.Kind.ping: Array(repeating: 0, count: 8)
            case RawFrame.Kind.priority: [0, 0, 0, 0, 16]
            default: []
            }
        let stream: UInt32 = kind == RawFrame.Kind.priority ? 1 : 0
        try await withTLSGateway { fixture async throws in
            try await flood(fixture) { _ in
                Array(repeating: RawFrame(kind: kind, stream: stream, payload: payload), count: 210)
            }
        }
    }

    @Test("A flood of empty data frames ends the connection")
    func emptyDataFrames() async throws {
        try await withTLSGateway { fixture async throws in
            try await flood(fixture) { client in
                let headers = try client.headers(client.request("POST /conversations/create"), ends: false)
                return [headers] + Array(repeating: .data(headers.stream, []), count: 12)
            }
        }
    }

    @Test("A flood of frames without effect ends the connection", arguments: [RawFrame.Kind.windowUpdate, 0xEE])
    func uselessFrames(kind: UInt8) async throws {
        try await withTLSGateway { fixture async throws in
            try await flood(fixture) { _ in
                Array(repeating: RawFrame(kind: kind, payload: RawFrame.integer(1)), count: 1_010)
            }
        }
    }

    @Test("A header block that expands too much ends the connection")
    func headerBomb() async throws {
        try await withTLSGateway { fixture async throws in
            try await flood(fixture, code: 9) { client in
                let secret = String(repeating: "a", count: 4_000)
                let many = (0..<1_000).map { _ in ("x", secret) }
                return [try client.headers(client.request("GET /conversations") + many)]
            }
        }
    }

    @Test("Too many fields are a 431, and the connection stays usable")
    func tooManyFields() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let many = (0..<201).map { ("x-\($0)", "1") }
                let response = try await client.perform("GET /conversations", fields: many)
                #expect(response.status == 431)
                #expect(response.code == "headers_too_large")
                #expect(try await client.perform("GET /conversations").status == 200)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("Too many streams end the connection")
    func tooManyStreams() async throws {
        try await withTLSGateway(script: { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                if request.target.hasSuffix("wait") { _ = try await connection.rest() }
                try await connection.send(ScriptedService.response(""))
            }
        }) { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                for _ in 0..<101 { try await client.begin("GET /conversations?wait") }
                while try await client.frame() != nil {}
            }
            #expect(fixture.service.requests.count <= 100)
            #expect(try await HTTP2Client.open(fixture) { try await $0.perform("GET /conversations").status } == 200)
        }
    }

    @Test("Streams whose responses are not read hold only their buffers")
    func unreadResponses() async throws {
        try await withTLSGateway(script: { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                try await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n")
                let piece = Array(repeating: UInt8(0x78), count: 65_536)
                service.record(bytes: try await connection.sendUntilStuck(piece, most: 20_000_000))
                _ = try await connection.rest()
            }
        }) { fixture async throws in
            // The window of each stream is empty.
            try await HTTP2Client.open(fixture, settings: [(4, 0)]) { client async throws in
                client.opensWindows = false
                for _ in 0..<20 { try await client.begin("GET /conversations") }
                try await eventually { fixture.service.requests.count == 20 }
                try await HTTP2Client.open(fixture) { other async throws in
                    #expect(try await other.perform("GET /health").status == 200)
                }
                try await eventually { fixture.service.received > 0 }
                // Each stream stops after the buffers of its connection, which are the kernel's.
                #expect(fixture.service.received < 20 * 8_000_000)
            }
        }
    }

    // MARK: Requests that another server would read differently

    @Test(
        "An invalid pseudo-field resets the stream",
        arguments: [
            [(":path", "/conversations\r\nx-evil: 1")], [(":path", "/conversations HTTP/1.1")], [(":path", "")],
            [(":method", "GET\r\nx: 1")], [(":authority", "a b")],
        ]
    )
    func invalidPseudoFields(changes: [(String, String)]) async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let fields = client.request("GET /conversations").map { name, value in
                    (name, changes.first { $0.0 == name }?.1 ?? value)
                }
                #expect(try await client.perform(fields).reset == 1)
                #expect(try await client.perform("GET /conversations").status == 200)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test(
        "A field that HTTP/2 forbids resets the stream",
        arguments: [
            ("connection", "close"), ("transfer-encoding", "chunked"), ("keep-alive", "1"), ("upgrade", "websocket"),
            ("proxy-connection", "close"), ("te", "gzip"), ("X-Upper", "1"), ("x-a", "1\r\nx-b: 2"), ("x a", "1"),
            (":path", "/again"), (":status", "200"), ("x-nul", "\0"),
        ]
    )
    func connectionSpecificFields(name: String, value: String) async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                #expect(try await client.perform("GET /conversations", fields: [(name, value)]).reset == 1)
                #expect(try await client.perform("GET /conversations", fields: [("te", "trailers")]).status == 200)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("A missing pseudo-field resets the stream, and a missing authority is a 400")
    func missingPseudoFields() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                for name in [":method", ":path", ":scheme"] {
                    let fields = client.request("GET /conversations").filter { $0.0 != name }
                    #expect(try await client.perform(fields).reset == 1)
                }
                let hostless = client.request("GET /conversations", authority: nil)
                #expect(try await client.perform(hostless).status == 400)
                #expect(try await client.perform(hostless + [("host", "example.org")]).status == 200)
            }
        }
    }

    @Test("A host that differs from the authority is a 400")
    func hostDiffersFromAuthority() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let same = try await client.perform("GET /conversations", fields: [("host", "EXAMPLE.org")])
                #expect(same.forwarded["x-forwarded-host"] == ["example.org"])
                #expect(same.forwarded["host"].count == 1)
                for evil in [[("host", "evil.example")], [("host", "example.org"), ("host", "example.org")]] {
                    #expect(try await client.perform("GET /conversations", fields: evil).status == 400)
                }
                let user = client.request("GET /conversations", authority: "user@example.org")
                #expect(try await client.perform(user).status == 400)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test("A pseudo-field with more than 128 combining marks in a row is rejected", arguments: [":method", ":path"])
    func marks(name: String) async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let marks = "/" + String(repeating: "\u{301}\u{316}", count: 300)
                let fields = client.request("GET /conversations").map { $0.0 == name ? (name, marks) : $0 }
                #expect(try await client.perform(fields).status == 400)
                #expect(try await client.perform("GET /conversations").status == 200)
            }
            #expect(fixture.service.requests.count == 1)
        }
    }

    @Test(
        "A wrong content length resets the stream or is a 400",
        arguments: ["2", "100", "-1", "+5", "5,5", "0x5", ""]
    )
    func wrongContentLength(length: String) async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                let response = try await client.perform(
                    "POST /conversations/create",
                    fields: [("content-length", length)],
                    body: Array("hello".utf8)
                )
                #expect(response.reset == 1 || response.status == 400)
                #expect(try await client.perform("GET /conversations").status == 200)
            }
            #expect(fixture.service.requests.map(\.method) == ["GET"])
        }
    }

    @Test("CONNECT is a 405")
    func connectMethod() async throws {
        try await withTLSGateway { fixture async throws in
            try await HTTP2Client.open(fixture) { client async throws in
                #expect(try await client.perform([(":method", "CONNECT"), (":authority", "a:1")]).status == 405)
                #expect(try await client.perform("GET /conversations").status == 200)
            }
        }
    }

    @Test("HTTP/1.1 on an HTTP/2 connection gets no response")
    func notHTTP2() async throws {
        try await withTLSGateway { fixture async throws in
            try await fixture.connectTLS(over: ["h2"]) { connection async throws in
                try await connection.send("GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
                #expect(try await !connection.rest().contains("200"))
            }
        }
    }
}
