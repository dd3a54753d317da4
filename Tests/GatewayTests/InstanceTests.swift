import Foundation
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// Several instances of a service, of which some do badly: what clients see of it, and what the instances get.
@Suite struct InstanceTests {
    // MARK: Spreading

    @Test func instancesShareTheLoad() async throws {
        try await withGateway(instances: [ScriptedService.echo, ScriptedService.echo, ScriptedService.echo]) {
            scene,
            services async throws in
            // One at a time all are equally busy, and take turns.
            #expect(try await scene.load(90, atOnce: 1) == [200: 90])
            #expect(services.map(\.requests.count) == [30, 30, 30])
            // Of many at once whoever happens to be slow gets less, but nobody is left out.
            #expect(try await scene.load(90) == [200: 90])
            #expect(services.allSatisfy { $0.requests.count >= 35 })
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
        let mood = InstanceMood()
        try await withGateway(instances: [mood.script, ScriptedService.echo], settings: GatewayConfiguration.forGood) {
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
        try await withGateway(
            instances: [ScriptedService.refusing, ScriptedService.echo],
            settings: GatewayConfiguration.forGood
        ) {
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
        try await withGateway(instances: [ScriptedService.refusing, ScriptedService.refusing]) {
            scene,
            services async throws in
            #expect(try await scene.load(100) == [503: 100])
            let sent = services.map(\.requests.count).reduce(0, +)
            #expect((100...120).contains(sent), "\(sent)")
        }
    }

    @Test func anInstanceThatHangsHoldsUpHardlyAnybody() async throws {
        try await withGateway(
            instances: [ScriptedService.hanging, ScriptedService.echo],
            settings: { configuration in
                GatewayConfiguration.forGood(&configuration)
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
            instances: [ScriptedService.hanging, ScriptedService.echo],
            settings: { $0.headerTimeout = .milliseconds(200) }
        ) { scene, services async throws in
            async let statuses = scene.load(20, atOnce: 2)
            try await eventually { services[0].requests.contains { $0.target == "/conversations" } }
            // Not earlier, else it may be passed over before anybody has asked it.
            try await scene.reconfigure { $0.healthInterval = .milliseconds(50) }
            #expect(try await statuses == [200: 20])
        }
    }

    @Test func whenAllAreGoneEverybodyIsToldAtOnce() async throws {
        try await withGateway(
            instances: [ScriptedService.hanging],
            settings: { configuration in
                GatewayConfiguration.forGood(&configuration)
                configuration.answerTimeout = .milliseconds(200)
            }
        ) { scene, services async throws in
            var sent = 0
            while scene.circuit != .open {
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
            while scene.circuit != .closed { _ = try await scene.get("/conversations") }
            #expect(try await scene.load(50) == [200: 50])
        }
    }
}
