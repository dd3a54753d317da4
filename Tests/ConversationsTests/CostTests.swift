import TestSupport
import Testing

/// The processor time of bodies that are designed to be expensive.
@Suite("Cost of requests") struct CostTests {
    @Test("Every route accepts or rejects hostile JSON within 50 ms of processor time per 100 kB")
    func routes() async throws {
        let described = try PublicRoute.below("conversations", "blocks")
        try await withConversation { fixture in
            try await CostTest.check(described) { route, body in
                try await fixture.ana.ask(route.method, route.path, body).status
            }
        }
    }

    @Test("Every socket event accepts or rejects hostile JSON within 50 ms of processor time per 100 kB")
    func events() async throws {
        try await withSockets(settings: ["RATE_SOCKET": "0"]) { fixture in
            var socket = try await fixture.socket(of: fixture.ana)
            let bodies = HostileBody.all(of: 60_000) + HostileBody.all(of: 240_000)
            for event in Set(SocketEventTests.events.map(\.name)).sorted() {
                try await CostTest.check(event, bodies) { body in
                    do {
                        return try await socket.ask(event, body).code ?? 500
                    } catch {
                        // A packet that is not JSON, or has too many values, ends the session.
                        socket = try await fixture.socket(of: fixture.ana)
                        return 400
                    }
                }
            }
        }
    }

    @Test("A handshake is accepted or rejected within 50 ms of processor time per 100 kB")
    func handshakes() async throws {
        try await withSockets { fixture in
            let deep = String(repeating: "[", count: 58) + "{}" + String(repeating: ",{}", count: 9_000)
            let proof = HostileBody(
                name: "a fraction before empty objects, 58 levels deep",
                text: #"{"last":{"1":1.5},"z":\#(deep)\#(String(repeating: "]", count: 58))}"#
            )
            try await CostTest.check("connect", HostileBody.all(of: 60_000) + [proof]) { body in
                do {
                    let socket = try await SocketClient(port: fixture.port, auth: body)
                    return try await socket.reply().hasPrefix("44") ? 400 : 200
                } catch {
                    // A packet that is not JSON, or has too many values, ends the session.
                    return 400
                }
            }
        }
    }
}
