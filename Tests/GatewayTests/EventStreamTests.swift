import NIOCore
import Testing

@testable import GatewayServer

@Suite("Event streams") struct EventStreamTests {
    private static let event = "7\r\nid: 1\n\n\r\n"
    private static let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

    /// Sends one event and then nothing while the connection is open; other requests get a response at once.
    private static let script: ScriptedService.Script = { connection, service in
        while let request = try await connection.message() {
            service.record(request)
            guard request.target.hasSuffix("/stream") else {
                try await connection.send(ScriptedService.response("at once"))
                continue
            }
            try await connection.send(head + event)
            _ = try await connection.rest()
        }
    }

    @Test("Events arrive at once, and the response timeout does not end a stream")
    func eventsArriveImmediately() async throws {
        try await withGateway(script: { connection, service in
            guard try await connection.message()?.target.hasSuffix("/stream") == true else {
                _ = try await connection.rest()
                return
            }
            try await connection.send(Self.head + Self.event)
            while service.received == 0 { try await Task.sleep(for: .milliseconds(5)) }
            try await connection.send(Self.event + "0\r\n\r\n")
        }) { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /photos/home/stream"))
                let head = try #require(try await connection.head())
                #expect(head.status == 200)
                #expect(head["content-type"] == ["text/event-stream"])
                #expect(try await Self.read(connection, until: "id: 1"))
                // The timeout is shortened only once the stream has begun. Another request that gets a 504 shows that
                // the timeout
                // has passed.
                try await fixture.reconfigure { $0.responseTimeout = .milliseconds(500) }
                #expect(try await fixture.get("/conversations").status == 504)
                fixture.service.record(bytes: 1)
                #expect(try await Self.read(connection, until: "0\r\n\r\n"))
            }
        }
    }

    @Test("Streams leave connections to a service for other requests")
    func streamsLeaveCapacityForRequests() async throws {
        try await withGateway(settings: { $0.upstreamConnectionLimit = 4 }, script: Self.script) { fixture in
            let request = fixture.signed("GET /photos/home/stream")
            try await fixture.connect { first in
                try await first.send(request)
                #expect(try await Self.read(first, until: "id: 1"))
                try await fixture.connect { second in
                    try await second.send(request)
                    #expect(try await Self.read(second, until: "id: 1"))
                    #expect(try await fixture.perform(request).status == 503)
                    #expect(try await fixture.get("/conversations").status == 200)
                }
            }
            // A client that disconnects ends its stream and frees the connection.
            try await eventually { fixture.gateway.state.connections.count == 0 }
            try await fixture.connect { third in
                try await third.send(request)
                #expect(try await Self.read(third, until: "id: 1"))
            }
        }
    }

    @Test("A gateway that stops ends its streams")
    func drainEndsStreams() async throws {
        try await withGateway(settings: { $0.drainTimeout = .seconds(60) }, script: Self.script) { fixture in
            try await fixture.connect { connection in
                try await connection.send(fixture.signed("GET /photos/home/stream"))
                #expect(try await Self.read(connection, until: "id: 1"))
                await fixture.gateway.stop()
                #expect(try await Self.read(connection, until: "0\r\n\r\n"))
            }
        }
    }

    /// Whether this text arrives before the connection ends.
    private static func read(_ connection: RawConnection, until words: String) async throws -> Bool {
        var collected: [UInt8] = []
        while let piece = try await connection.piece() {
            collected += piece
            if String(decoding: collected, as: UTF8.self).contains(words) { return true }
        }
        return false
    }
}
