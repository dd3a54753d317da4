import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// Polls of Engine.IO wait at their instance until there is something to say.
@Suite struct HeldPollTests {
    /// Notes what comes and holds it until it is told what to answer.
    private final class Holding: Sendable {
        private let word = Mutex<String?>(nil)

        func answer(_ text: String) { word.withLock { $0 = text } }

        var script: ScriptedService.Script {
            { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    while request.target.contains("sid="), self.word.withLock({ $0 == nil }) {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                    try await connection.send(ScriptedService.answer(self.word.withLock { $0 } ?? ""))
                }
            }
        }
    }

    @Test func aPollIsHeldLongerThanAnAnswerMayTake() async throws {
        let holding = Holding()
        try await withGateway(
            settings: {
                $0.pollTimeout = .seconds(60)
                $0.healthRules.failuresToEject = 1
            },
            script: holding.script
        ) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            async let answer = scene.ask(try #require(EngineSession.requests(of: tag + "abcdefg").first))
            try await eventually { scene.service.requests.count == 1 }
            // Set once the poll is held, since it counts for connecting too. Another request that is not answered in
            // time shows that the time has passed.
            try await scene.reconfigure { $0.answerTimeout = .milliseconds(100) }
            let late = try await scene.ask(
                "POST /socket.io/?EIO=4&transport=polling&sid=\(tag)x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\n6"
            )
            #expect(late.status == 504)
            holding.answer("42[]")
            #expect(try await answer.text == "42[]")
        }
    }

    @Test func aPollThatIsHeldForGoodEndsAndItsInstanceIsNotToBlame() async throws {
        let holding = Holding()
        try await withGateway(
            settings: {
                $0.answerTimeout = .milliseconds(50)
                $0.pollTimeout = .milliseconds(100)
                $0.healthRules.failuresToEject = 1
                $0.healthRules.failuresToOpen = 1
            },
            script: holding.script
        ) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let poll = try #require(EngineSession.requests(of: tag + "abcdefg").first)
            #expect(try await scene.ask(poll).status == 504)
            #expect(scene.gateway.edge.fleets[1].instances[0].standing == InstanceHealth.Standing())
        }
    }

    @Test func heldPollsLeaveRoomForQuestions() async throws {
        let holding = Holding()
        try await withGateway(settings: { $0.upstreamConnectionLimit = 4 }, script: holding.script) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let poll = try #require(EngineSession.requests(of: tag + "abcdefg").first)
            async let first = scene.ask(poll).status
            async let second = scene.ask(poll).status
            try await eventually { scene.service.requests.count == 2 }
            #expect(try await scene.ask(poll).status == 503)
            #expect(try await scene.get("/conversations").status == 200)
            holding.answer("42[]")
            #expect(try await [first, second] == [200, 200])
            // Their places are free again.
            for _ in 0..<4 { #expect(try await scene.ask(poll).status == 200) }
        }
    }

    @Test func aClientThatLeavesTakesItsPollAlong() async throws {
        let holding = Holding()
        try await withGateway(settings: { $0.upstreamConnectionLimit = 2 }, script: holding.script) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            let poll = try #require(EngineSession.requests(of: tag + "abcdefg").first)
            for count in 1...3 {
                try await scene.connect { connection in
                    try await connection.send(poll)
                    try await eventually { scene.service.requests.count == count }
                }
                // Only one at a time has room here.
                try await eventually { scene.gateway.edge.connections.count == 0 }
            }
            #expect(scene.gateway.edge.fleets[1].instances[0].standing == InstanceHealth.Standing())
        }
    }

    @Test func whenTheGatewayStopsHeldPollsAreToldSo() async throws {
        try await withGateway(
            settings: { $0.drainTimeout = .seconds(60) },
            script: Holding().script
        ) { scene in
            let tag = try EngineSession.tag(of: scene.service)
            async let answer = scene.ask(try #require(EngineSession.requests(of: tag + "abcdefg").first))
            try await eventually { scene.service.requests.count == 1 }
            await scene.gateway.stop()
            let told = try await answer
            #expect(told.status == 503)
            #expect(told["connection"] == ["close"])
        }
    }
}
