import Foundation
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// Several instances of a service, of which some do badly: what clients see of it, and what the instances get.
@Suite struct InstanceTests {
    private static let refusing: ScriptedService.Script = { connection, service in
        while let request = try await connection.message() {
            service.note(request)
            try await connection.send(ScriptedService.answer("", status: "503 Service Unavailable"))
        }
    }

    private static let hanging: ScriptedService.Script = { connection, service in
        while let request = try await connection.message() { service.note(request) }
    }

    /// Answers, and says that it is ready, with the status that it is told.
    private final class Mood: Sendable {
        private let state = Mutex("200 OK")

        func turn(_ status: String) { state.withLock { $0 = status } }

        var script: ScriptedService.Script {
            { connection, service in
                while let request = try await connection.message() {
                    let status = self.state.withLock { $0 }
                    if request.target != "/ready" { service.note(request) }
                    try await connection.send(ScriptedService.answer("", status: status))
                }
            }
        }
    }

    /// Whether an instance of conversations is, the first unless told.
    private func isReady(_ scene: GatewayScene, _ number: Int = 0) -> Bool {
        scene.gateway.edge.fleets[1].instances[number].standing.isReady
    }

    private func circuit(_ scene: GatewayScene) -> CircuitBreaker.State {
        scene.gateway.edge.fleets[1].instances[0].standing.circuit
    }

    /// Who is ejected stays so for longer than any test takes, and so does an open circuit.
    private static func forGood(_ configuration: inout GatewayConfiguration) {
        configuration.healthRules.ejection = .minutes(10)
        configuration.healthRules.longestEjection = .minutes(10)
        configuration.healthRules.openTime = .minutes(10)
        configuration.healthRules.longestOpenTime = .minutes(10)
    }

    // MARK: Spreading

    @Test func instancesShareTheLoad() async throws {
        try await withGateway(instances: [ScriptedService.echo, ScriptedService.echo, ScriptedService.echo]) {
            scene,
            services async throws in
            #expect(try await scene.load(90) == [200: 90])
            #expect(services.allSatisfy { (20...40).contains($0.requests.count) })
        }
    }

    @Test func whoeverIsBusyGetsLess() async throws {
        let isHolding = Mutex(true)
        let slow: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.note(request)
                while isHolding.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                try await connection.send(ScriptedService.answer("at last"))
            }
        }
        try await withGateway(instances: [slow, ScriptedService.echo]) { scene, services async throws in
            // They take turns as long as they are equal.
            #expect(try await scene.get("/conversations").status == 200)
            try await scene.connect { waiting in
                try await waiting.send(scene.signed("GET /conversations"))
                try await eventually { services[0].requests.count == 1 }
                for _ in 0..<30 { #expect(try await scene.get("/conversations").status == 200) }
                #expect(services.map(\.requests.count) == [1, 31])
                isHolding.withLock { $0 = false }
                #expect(try await waiting.message()?.text == "at last")
            }
        }
    }

    // MARK: Failing

    @Test func anInstanceThatIsGoneIsNotNoticed() async throws {
        try await withGateway(
            instances: [ScriptedService.echo],
            settings: { configuration in
                configuration.services = try configuration.services.map { service in
                    let urls = ["http://127.0.0.1:9", service.instances[0].url]
                    return try UpstreamService(name: service.name, prefixes: service.prefixes, urls: urls)
                }
            }
        ) { scene, services async throws in
            // Nothing was sent to it, so a POST with a body goes elsewhere too.
            let post = scene.signed("POST /conversations/create", fields: "content-length: 2\r\n", body: "{}")
            for _ in 0..<20 { #expect(try await scene.ask(post).status == 200) }
            #expect(try await scene.load(100) == [200: 100])
            #expect(services[0].requests.count == 120)
        }
    }

    @Test func anInstanceThatBeginsToRefuseIsNotNoticed() async throws {
        let mood = Mood()
        try await withGateway(instances: [mood.script, ScriptedService.echo], settings: Self.forGood) {
            scene,
            services async throws in
            #expect(try await scene.load(100) == [200: 100])
            let before = services[0].requests.count
            mood.turn("503 Service Unavailable")
            // Those it refused before it was ejected were asked for again at the other.
            #expect(try await scene.load(100) == [200: 100])
            #expect((1...20).contains(services[0].requests.count - before))
            let sent = services.map(\.requests.count).reduce(0, +)
            #expect(sent <= 240, "\(sent)")
        }
    }

    @Test func whatMayNotBeRepeatedIsNot() async throws {
        try await withGateway(instances: [Self.refusing, ScriptedService.echo], settings: Self.forGood) {
            scene,
            services async throws in
            var statuses: [Int: Int] = [:]
            for _ in 0..<40 {
                let post = scene.signed("POST /conversations/create", fields: "content-length: 2\r\n", body: "{}")
                statuses[try await scene.ask(post).status, default: 0] += 1
            }
            #expect(statuses[503] == services[0].requests.count)
            #expect(statuses[503] == 5)
            #expect(services.map(\.requests.count).reduce(0, +) == 40)
        }
    }

    @Test func ifAllRefuseAllAreAsked() async throws {
        try await withGateway(instances: [Self.refusing, Self.refusing]) { scene, services async throws in
            #expect(try await scene.load(100) == [503: 100])
            let sent = services.map(\.requests.count).reduce(0, +)
            #expect((100...120).contains(sent), "\(sent)")
        }
    }

    @Test func anInstanceThatHangsHoldsUpHardlyAnybody() async throws {
        try await withGateway(
            instances: [Self.hanging, ScriptedService.echo],
            settings: { configuration in
                Self.forGood(&configuration)
                configuration.answerTimeout = .seconds(1)
            }
        ) { scene, services async throws in
            let statuses = try await scene.load(400, atOnce: 4)
            #expect(statuses[200] ?? 0 >= 380, "\(statuses)")
            #expect(services.map(\.requests.count).reduce(0, +) <= 480)
        }
    }

    @Test func whoWaitsForAnInstanceThatVanishedIsSentToAnother() async throws {
        try await withGateway(
            instances: [Self.hanging, ScriptedService.echo],
            settings: { configuration in
                configuration.healthInterval = .milliseconds(50)
                configuration.headerTimeout = .milliseconds(200)
            }
        ) { scene, services async throws in
            #expect(try await scene.load(20, atOnce: 2) == [200: 20])
            #expect(services[0].requests.contains { $0.target == "/conversations" })
        }
    }

    @Test func whenAllAreGoneEverybodyIsToldAtOnce() async throws {
        try await withGateway(
            instances: [Self.hanging],
            settings: { configuration in
                Self.forGood(&configuration)
                configuration.answerTimeout = .milliseconds(200)
            }
        ) { scene, services async throws in
            var sent = 0
            while circuit(scene) != .open {
                _ = try await scene.load(8)
                sent += 8
            }
            let answer = try await scene.get("/conversations")
            #expect(answer.status == 503)
            let seconds = try #require(answer["retry-after"].first.flatMap { Int($0) })
            #expect((2...600).contains(seconds))
            #expect(try await scene.load(50) == [503: 50])
            #expect(services[0].requests.count <= sent)
        }
    }

    @Test func aCircuitThatOpenedClosesAgain() async throws {
        let isDown = Mutex(true)
        try await withGateway(
            instances: [
                { connection, service in
                    while let request = try await connection.message() {
                        service.note(request)
                        if isDown.withLock({ $0 }) { return }
                        try await connection.send(ScriptedService.answer("fine"))
                    }
                }
            ],
            settings: { $0.healthRules.openTime = .milliseconds(100) }
        ) { scene, services async throws in
            for _ in 0..<5 { #expect(try await scene.get("/conversations").status == 502) }
            while try await scene.get("/conversations").status != 503 {}
            isDown.withLock { $0 = false }
            while circuit(scene) != .closed { _ = try await scene.get("/conversations") }
            #expect(try await scene.load(50) == [200: 50])
        }
    }

    // MARK: Coming and going

    @Test func whatIsAboutToStopFinishesAndGetsNothingMore() async throws {
        let moods = [Mood(), Mood()]
        try await withGateway(
            instances: moods.map(\.script),
            settings: { $0.healthInterval = .milliseconds(20) }
        ) { scene, services async throws in
            #expect(try await scene.load(20) == [200: 20])
            moods[0].turn("503 Service Unavailable")
            try await eventually { !isReady(scene) }
            let before = services[0].requests.count
            #expect(try await scene.load(20) == [200: 20])
            #expect(services[0].requests.count == before)
            // Back again, it gets its share again, if little at first.
            moods[0].turn("200 OK")
            try await eventually { isReady(scene) }
            while services[0].requests.count == before {
                #expect(try await scene.get("/conversations").status == 200)
            }
        }
    }

    @Test func whoComesBackIsAskedBeforeWhoIsAboutToStop() async throws {
        let moods = [Mood(), Mood()]
        try await withGateway(
            instances: moods.map(\.script),
            settings: { configuration in
                configuration.healthInterval = .milliseconds(20)
                configuration.healthRules.returnTime = .minutes(10)
            }
        ) { scene, services async throws in
            moods[0].turn("503 Service Unavailable")
            try await eventually { !isReady(scene) }
            moods[0].turn("200 OK")
            try await eventually { isReady(scene) }
            moods[1].turn("503 Service Unavailable")
            try await eventually { !isReady(scene, 1) }
            let before = services[1].requests.count
            // Its share is a tenth, but the other's is nothing.
            #expect(try await scene.load(40) == [200: 40])
            #expect(services[1].requests.count == before)
        }
    }

    @Test func theStatusPageTellsHowEachIsDoing() async throws {
        try await withGateway(instances: [Self.refusing, ScriptedService.echo], settings: Self.forGood) {
            scene,
            _ async throws in
            _ = try await scene.load(40)
            let answer = try await scene.ask("GET /status HTTP/1.1\r\nhost: a\r\n\r\n")
            let report = try JSONDecoder().decode(Status.self, from: Data(answer.body))
            let conversations = try #require(report.services.first { $0.name == "conversations" })
            #expect(conversations.status == "degraded")
            #expect(conversations.perInstance.map(\.ready) == [false, true])
            #expect(conversations.perInstance.map(\.ejected) == [true, false])
            #expect(conversations.perInstance.map(\.circuit) == ["closed", "closed"])
            #expect(!answer.text.contains("127.0.0.1"))
        }
    }

    private struct Status: Decodable {
        struct Service: Decodable {
            let name: String
            let status: String
            let perInstance: [Instance]
        }

        struct Instance: Decodable {
            let ready: Bool
            let ejected: Bool
            let circuit: String
        }

        let services: [Service]
    }

    // MARK: Other instances

    @Test func otherInstancesAreTakenUpWhileWhatIsUnderWayFinishes() async throws {
        let mayFinish = Mutex(false)
        try await withGateway(instances: [
            { connection, service in
                while let request = try await connection.message() {
                    service.note(request)
                    while !mayFinish.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.answer("the old one"))
                }
            },
            ScriptedService.echo,
        ]) { scene, services async throws in
            func use(_ service: ScriptedService) async throws {
                var configuration = scene.gateway.edge.configuration
                configuration.services = try configuration.services.map {
                    try UpstreamService(
                        name: $0.name,
                        prefixes: $0.prefixes,
                        urls: ["http://127.0.0.1:\(service.port)"]
                    )
                }
                try await scene.gateway.reconfigure(configuration)
            }
            try await use(services[0])
            try await scene.connect { waiting in
                try await waiting.send(scene.signed("GET /conversations"))
                try await eventually { services[0].requests.count == 1 }
                try await use(services[1])
                #expect(try await scene.load(20) == [200: 20])
                #expect(services[1].requests.count == 20)
                mayFinish.withLock { $0 = true }
                #expect(try await waiting.message()?.text == "the old one")
                // The connection goes on, and its next request goes to the new one.
                try await waiting.send(scene.signed("GET /conversations"))
                #expect(try await waiting.message()?.status == 200)
                #expect(services[0].requests.count == 1)
            }
        }
    }
}
