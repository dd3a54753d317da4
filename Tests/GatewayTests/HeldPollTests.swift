import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// Engine.IO polls that wait at their instance for a message.
@Suite("Held polls") struct HeldPollTests {
    /// Records requests and holds polls until the test sets the response.
    private final class HeldPolls: Sendable {
        private let pollBody = Mutex<String?>(nil)

        func response(_ text: String) { pollBody.withLock { $0 = text } }

        var script: ScriptedService.Script {
            { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    while request.target.contains("sid="), self.pollBody.withLock({ $0 == nil }) {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                    try await connection.send(ScriptedService.response(self.pollBody.withLock { $0 } ?? ""))
                }
            }
        }
    }

    @Test("A poll may wait longer than other requests")
    func longPoll() async throws {
        let heldPolls = HeldPolls()
        try await withGateway(
            settings: {
                $0.pollTimeout = .seconds(60)
                $0.healthRules.failuresToEject = 1
            },
            script: heldPolls.script
        ) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            async let response = fixture.perform(try #require(EngineIOSession.requests(of: tag + "abcdefg").first))
            try await eventually { fixture.service.requests.count == 1 }
            // The timeout is shortened only once the poll is held, because it also limits connecting. Another request
            // that
            // gets a 504 shows that the timeout has passed.
            try await fixture.reconfigure { $0.responseTimeout = .milliseconds(100) }
            let late = try await fixture.perform(
                "POST /socket.io/?EIO=4&transport=polling&sid=\(tag)x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n6"
            )
            #expect(late.status == 504)
            heldPolls.response("42[]")
            #expect(try await response.text == "42[]")
        }
    }

    @Test("A poll that waits too long is a 504 and does not count against the instance")
    func endlessPoll() async throws {
        let heldPolls = HeldPolls()
        try await withGateway(
            settings: {
                $0.responseTimeout = .milliseconds(50)
                $0.pollTimeout = .milliseconds(100)
                $0.healthRules.failuresToEject = 1
                $0.healthRules.failuresToOpen = 1
            },
            script: heldPolls.script
        ) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let poll = try #require(EngineIOSession.requests(of: tag + "abcdefg").first)
            #expect(try await fixture.perform(poll).status == 504)
            #expect(fixture.gateway.state.clusters[1].instances[0].healthStatus == InstanceHealth.HealthStatus())
        }
    }

    @Test("Polls leave connections to a service for other requests")
    func pollsLeaveCapacityForRequests() async throws {
        let heldPolls = HeldPolls()
        try await withGateway(settings: { $0.upstreamConnectionLimit = 4 }, script: heldPolls.script) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let poll = try #require(EngineIOSession.requests(of: tag + "abcdefg").first)
            async let first = fixture.perform(poll).status
            async let second = fixture.perform(poll).status
            try await eventually { fixture.service.requests.count == 2 }
            #expect(try await fixture.perform(poll).status == 503)
            #expect(try await fixture.get("/conversations").status == 200)
            heldPolls.response("42[]")
            #expect(try await [first, second] == [200, 200])
            // The connections are free again.
            for _ in 0..<4 { #expect(try await fixture.perform(poll).status == 200) }
        }
    }

    @Test("A client that disconnects ends its poll without counting against the instance")
    func disconnectCancelsPoll() async throws {
        let heldPolls = HeldPolls()
        try await withGateway(settings: { $0.upstreamConnectionLimit = 2 }, script: heldPolls.script) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            let poll = try #require(EngineIOSession.requests(of: tag + "abcdefg").first)
            for count in 1...3 {
                try await fixture.connect { connection in
                    try await connection.send(poll)
                    try await eventually { fixture.service.requests.count == count }
                }
                // The limit of 2 leaves room for one poll at a time.
                try await eventually { fixture.gateway.state.connections.count == 0 }
            }
            #expect(fixture.gateway.state.clusters[1].instances[0].healthStatus == InstanceHealth.HealthStatus())
        }
    }

    @Test("A gateway that stops ends its polls with a 503")
    func drainEndsPolls() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .seconds(60) },
            script: HeldPolls().script
        ) { fixture in
            let tag = try EngineIOSession.tag(of: fixture.service)
            async let response = fixture.perform(try #require(EngineIOSession.requests(of: tag + "abcdefg").first))
            try await eventually { fixture.service.requests.count == 1 }
            await fixture.gateway.stop()
            let stopped = try await response
            #expect(stopped.status == 503)
            #expect(stopped["connection"] == ["close"])
        }
    }
}
