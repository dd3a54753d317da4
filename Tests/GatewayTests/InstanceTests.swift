import Foundation
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// Several instances of a service, some of them failing: the clients' responses and the instances' load.
@Suite("Instances of a service") struct InstanceTests {
    // MARK: Load balancing

    @Test("Instances share the load")
    func loadSharing() async throws {
        try await withGateway(instances: [ScriptedService.echo, ScriptedService.echo, ScriptedService.echo]) {
            fixture,
            services async throws in
            // One request at a time goes to the instances in turn.
            #expect(try await fixture.load(90, concurrency: 1) == [200: 90])
            #expect(services.map(\.requests.count) == [30, 30, 30])
            // Of concurrent requests a slow instance gets fewer, but every instance gets some.
            #expect(try await fixture.load(90) == [200: 90])
            #expect(services.allSatisfy { $0.requests.count >= 35 })
        }
    }

    @Test("A busy instance gets fewer requests")
    func busyInstance() async throws {
        let isHolding = Mutex(true)
        let slow: ScriptedService.Script = { connection, service in
            while let request = try await connection.message() {
                service.record(request)
                while isHolding.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                try await connection.send(ScriptedService.response("at last"))
            }
        }
        try await withGateway(instances: [slow, ScriptedService.echo]) { fixture, services async throws in
            // Equal instances are used in turn.
            #expect(try await fixture.get("/conversations").status == 200)
            try await fixture.connect { waiting in
                try await waiting.send(fixture.signed("GET /conversations"))
                try await eventually { services[0].requests.count == 1 }
                for _ in 0..<30 { #expect(try await fixture.get("/conversations").status == 200) }
                #expect(services.map(\.requests.count) == [1, 31])
                isHolding.withLock { $0 = false }
                #expect(try await waiting.message()?.text == "at last")
            }
        }
    }

    // MARK: Failures

    @Test("Requests to an instance that is down go to another, with bodies too")
    func instanceDown() async throws {
        try await withGateway(
            instances: [ScriptedService.echo],
            settings: { configuration in
                configuration.services = try configuration.services.map { service in
                    let urls = ["http://127.0.0.1:9", service.instances[0].url]
                    return try UpstreamService(name: service.name, prefixes: service.prefixes, urls: urls)
                }
            }
        ) { fixture, services async throws in
            // Nothing was sent to the instance, so a POST with a body can go to another one.
            let post = fixture.signed("POST /conversations/create", fields: "content-length: 2\r\n", body: "{}")
            for _ in 0..<20 { #expect(try await fixture.perform(post).status == 200) }
            #expect(try await fixture.load(100) == [200: 100])
            #expect(services[0].requests.count == 120)
        }
    }

    @Test("An instance that begins to fail is ejected, and clients notice nothing")
    func instanceBeginsToFail() async throws {
        let control = InstanceControl()
        try await withGateway(
            instances: [control.script, ScriptedService.echo],
            settings: GatewayConfiguration.withoutRecovery
        ) {
            fixture,
            services async throws in
            #expect(try await fixture.load(100) == [200: 100])
            let before = services[0].requests.count
            control.setStatus("503 Service Unavailable")
            // Requests that it refused before its ejection were retried at the other instance.
            #expect(try await fixture.load(100) == [200: 100])
            #expect((1...20).contains(services[0].requests.count - before))
            let sent = services.map(\.requests.count).reduce(0, +)
            #expect(sent <= 240, "\(sent)")
        }
    }

    @Test("A POST that failed is not retried, and the instance is ejected")
    func nonIdempotentRequest() async throws {
        try await withGateway(
            instances: [ScriptedService.unavailable, ScriptedService.echo],
            settings: GatewayConfiguration.withoutRecovery
        ) {
            fixture,
            services async throws in
            var statuses: [Int: Int] = [:]
            for _ in 0..<40 {
                let post = fixture.signed("POST /conversations/create", fields: "content-length: 2\r\n", body: "{}")
                statuses[try await fixture.perform(post).status, default: 0] += 1
            }
            #expect(statuses[503] == services[0].requests.count)
            #expect(statuses[503] == 5)
            #expect(services.map(\.requests.count).reduce(0, +) == 40)
        }
    }

    @Test("When all instances fail, they all stay in use, with few retries")
    func allInstancesFail() async throws {
        try await withGateway(instances: [ScriptedService.unavailable, ScriptedService.unavailable]) {
            fixture,
            services async throws in
            #expect(try await fixture.load(100) == [503: 100])
            let sent = services.map(\.requests.count).reduce(0, +)
            #expect((100...120).contains(sent), "\(sent)")
        }
    }

    @Test("A hanging instance costs few requests")
    func hangingInstance() async throws {
        try await withGateway(
            instances: [ScriptedService.unresponsive, ScriptedService.echo],
            settings: { configuration in
                GatewayConfiguration.withoutRecovery(&configuration)
                configuration.responseTimeout = .seconds(1)
            }
        ) { fixture, services async throws in
            let statuses = try await fixture.load(400, concurrency: 4)
            #expect(statuses[200] ?? 0 >= 380, "\(statuses)")
            #expect(services.map(\.requests.count).reduce(0, +) <= 480)
        }
    }

    @Test("A check that gets no response frees the requests that wait for the instance")
    func vanishedInstance() async throws {
        try await withGateway(
            instances: [ScriptedService.unresponsive, ScriptedService.echo],
            settings: { $0.headerTimeout = .milliseconds(200) }
        ) { fixture, services async throws in
            async let statuses = fixture.load(20, concurrency: 2)
            try await eventually { services[0].requests.contains { $0.target == "/conversations" } }
            // Set only now, because the instance must have received a request before it is ejected.
            try await fixture.reconfigure { $0.healthInterval = .milliseconds(50) }
            #expect(try await statuses == [200: 20])
        }
    }

    @Test("When all circuits are open, requests are a 503 with Retry-After")
    func allInstancesDown() async throws {
        try await withGateway(
            instances: [ScriptedService.unresponsive],
            settings: { configuration in
                GatewayConfiguration.withoutRecovery(&configuration)
                configuration.responseTimeout = .milliseconds(200)
            }
        ) { fixture, services async throws in
            var sent = 0
            while fixture.circuit != .open {
                _ = try await fixture.load(8)
                sent += 8
            }
            let response = try await fixture.get("/conversations")
            #expect(response.status == 503)
            let seconds = try #require(response["retry-after"].first.flatMap { Int($0) })
            #expect((2...600).contains(seconds))
            #expect(try await fixture.load(50) == [503: 50])
            #expect(services[0].requests.count <= sent)
        }
    }

    @Test("A circuit closes once the instance responds again")
    func circuitCloses() async throws {
        let isDown = Mutex(true)
        try await withGateway(
            instances: [
                { connection, service in
                    while let request = try await connection.message() {
                        service.record(request)
                        if isDown.withLock({ $0 }) { return }
                        try await connection.send(ScriptedService.response("fine"))
                    }
                }
            ],
            settings: { $0.healthRules.openTime = .milliseconds(100) }
        ) { fixture, services async throws in
            for _ in 0..<5 { #expect(try await fixture.get("/conversations").status == 502) }
            while try await fixture.get("/conversations").status != 503 {}
            isDown.withLock { $0 = false }
            while fixture.circuit != .closed { _ = try await fixture.get("/conversations") }
            #expect(try await fixture.load(50) == [200: 50])
        }
    }
}
