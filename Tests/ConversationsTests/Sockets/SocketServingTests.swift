import ConversationsAPI
import Foundation
import ServiceClient
import TestSupport
import Testing
import Wire

/// Sockets and routes share a port and its connections.
@Suite("Sockets and routes on one port") struct SocketServingTests {
    private static let poll = "GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nhost: a\r\n"
    private static let upgrade =
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\n"
        + "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

    private func route(_ fixture: SocketFixture, _ path: String) -> String {
        "GET \(path) HTTP/1.1\r\nhost: a\r\nauthorization: Bearer \(fixture.ana.token)\r\n\r\n"
    }

    /// The gateway reuses connections in this way.
    @Test("One connection can serve polling and routes, with responses in order")
    func mixedConnection() async throws {
        try await withSockets { fixture in
            let client = try await RawClient(port: fixture.port)
            for _ in 0..<3 {
                try await client.send(Self.poll + "\r\n")
                #expect(try await client.receive(until: "\"sid\"").hasPrefix("HTTP/1.1 200 OK"))
                try await client.send(route(fixture, "/conversations/\(fixture.fixture.token)"))
                #expect(try await client.receive(until: "Walks").hasPrefix("HTTP/1.1 200 OK"))
            }
            // Pipelined requests get their responses in order.
            try await client.send(Self.poll + "\r\n" + route(fixture, "/nowhere") + Self.poll + "\r\n")
            var answers = ""
            while answers.components(separatedBy: "\"sid\"").count < 3 { answers += try await client.receive() }
            let kinds = answers.matches(of: /HTTP\/1\.1 (\d+)/).map { $0.1 }
            #expect(kinds == ["200", "404", "200"])
            client.close()
        }
    }

    @Test("A connection that served a route can become a WebSocket")
    func upgrade() async throws {
        try await withSockets { fixture in
            let client = try await RawClient(port: fixture.port)
            try await client.send(route(fixture, "/conversations/\(fixture.fixture.token)"))
            #expect(try await client.receive(until: "Walks").hasPrefix("HTTP/1.1 200 OK"))
            try await client.send(Self.upgrade)
            #expect(try await client.receive(until: "\"sid\"").hasPrefix("HTTP/1.1 101"))
            client.close()
        }
    }

    @Test("The session id starts with the gateway's instance tag, if the tag is valid")
    func sessionTag() async throws {
        try await withSockets { fixture in
            let client = try await RawClient(port: fixture.port)
            for (tag, isUsed) in [("abc-_9", true), ("abc", false), ("abc.!9", false), ("abcdefg", false)] {
                try await client.send(Self.poll + "x-roost-instance: \(tag)\r\n\r\n")
                let answer = try await client.receive(until: "\"sid\"")
                #expect(answer.contains("\"sid\":\"\(tag)") == isUsed, "\(tag)")
            }
            client.close()
        }
    }

    @Test(
        "An invalid request responds 400",
        arguments: ["nonsense\r\n\r\n", "GET /socket.io/?EIO=9&transport=polling HTTP/1.1\r\nhost: a\r\n\r\n"]
    )
    func invalidRequest(_ request: String) async throws {
        try await withSockets { fixture in
            let client = try await RawClient(port: fixture.port)
            try await client.send(request)
            #expect(try await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 400"))
            client.close()
        }
    }

    @Test("A server that shuts down ends its sockets")
    func shutdown() async throws {
        try await withConversation { fixture in
            let ended = SharedValue<[String]>([])
            try await withThrowingTaskGroup(of: Void.self) { clients in
                try await withServer(fixture.service) { port in
                    let sockets = SocketFixture(fixture: fixture, port: port)
                    let tunnel = try await RawClient(port: port)
                    try await tunnel.send(Self.upgrade)
                    #expect(try await tunnel.receive(until: "\"sid\"").hasPrefix("HTTP/1.1 101"))
                    clients.addTask {
                        while try await tunnel.bytes(1_024) != nil {}
                        ended.change { $0.append("tunnel") }
                    }
                    let token = sockets.ana.token
                    let isIn = SharedValue(false)
                    clients.addTask {
                        let socket = try await SocketClient(port: port, auth: #"{"token":"\#(token)"}"#)
                        _ = try await socket.event("authenticate")
                        isIn.change { $0 = true }
                        do {
                            try await socket.end()
                        } catch is TransportFailure {
                            // The server was gone between two polls.
                        }
                        ended.change { $0.append("poll") }
                    }
                    try await eventually { isIn.value }
                }
                try await clients.waitForAll()
            }
            #expect(Set(ended.value) == ["tunnel", "poll"])
        }
    }
}
