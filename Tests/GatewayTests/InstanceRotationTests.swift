import Foundation
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// Instances that enter and leave rotation, and their status page.
@Suite("Rotation of instances") struct InstanceRotationTests {
    // MARK: Readiness

    @Test("An instance that reports not ready gets no requests until it is ready again")
    func drainingInstance() async throws {
        let controls = [InstanceControl(), InstanceControl()]
        try await withGateway(
            instances: controls.map(\.script),
            settings: { configuration in
                configuration.healthInterval = .milliseconds(20)
                // Both always respond; on a slow machine a late response must not count as lost.
                configuration.healthTimeout = .minutes(1)
            }
        ) { fixture, services async throws in
            #expect(try await fixture.load(20) == [200: 20])
            controls[0].setStatus("503 Service Unavailable")
            try await eventually { !fixture.isReady() }
            let before = services[0].requests.count
            #expect(try await fixture.load(20) == [200: 20])
            #expect(services[0].requests.count == before)
            // Ready again, it gets a share, even if small at first.
            controls[0].setStatus("200 OK")
            try await eventually { fixture.isReady() }
            while services[0].requests.count == before {
                #expect(try await fixture.get("/conversations").status == 200)
            }
        }
    }

    @Test("With checks turned off, an instance counts as ready")
    func checksDisabled() async throws {
        let controls = [InstanceControl(), InstanceControl()]
        try await withGateway(
            instances: controls.map(\.script),
            settings: { configuration in
                configuration.healthInterval = .milliseconds(20)
                configuration.healthTimeout = .minutes(1)
            }
        ) { fixture, services async throws in
            controls[0].setStatus("503 Service Unavailable")
            try await eventually { !fixture.isReady() }
            try await fixture.reconfigure { $0.healthInterval = .zero }
            try await eventually { fixture.isReady() }
            controls[0].setStatus("200 OK")
            let before = services[0].requests.count
            while services[0].requests.count == before {
                #expect(try await fixture.get("/conversations").status == 200)
            }
        }
    }

    @Test("A recovering instance is preferred to one that is not ready")
    func recoveringBeforeDraining() async throws {
        let controls = [InstanceControl(), InstanceControl()]
        try await withGateway(
            instances: controls.map(\.script),
            settings: { configuration in
                configuration.healthInterval = .milliseconds(20)
                configuration.healthTimeout = .minutes(1)
                configuration.healthRules.slowStartTime = .minutes(10)
            }
        ) { fixture, services async throws in
            controls[0].setStatus("503 Service Unavailable")
            try await eventually { !fixture.isReady() }
            controls[0].setStatus("200 OK")
            try await eventually { fixture.isReady() }
            controls[1].setStatus("503 Service Unavailable")
            try await eventually { !fixture.isReady(1) }
            let before = services[1].requests.count
            // The recovering instance has a tenth of its share, and the other one none.
            #expect(try await fixture.load(40) == [200: 40])
            #expect(services[1].requests.count == before)
        }
    }

    @Test("The status page shows readiness, ejection and circuit of each instance, without addresses")
    func statusPage() async throws {
        try await withGateway(
            instances: [ScriptedService.unavailable, ScriptedService.echo],
            settings: GatewayConfiguration.withoutRecovery
        ) {
            fixture,
            _ async throws in
            // One request at a time alternates between the instances, so the first one gets its five failures.
            _ = try await fixture.load(40, concurrency: 1)
            let (text, conversations) = try await waitForReport({ $0.1.perInstance.contains(where: \.ready) }) {
                let response = try await fixture.perform("GET /status HTTP/1.1\r\nhost: a\r\n\r\n")
                let report = try JSONDecoder().decode(Status.self, from: Data(response.body))
                return (response.text, try #require(report.services.first { $0.name == "conversations" }))
            }
            #expect(conversations.status == "degraded")
            #expect(conversations.perInstance.map(\.ready) == [false, true])
            #expect(conversations.perInstance.map(\.ejected) == [true, false])
            #expect(conversations.perInstance.map(\.circuit) == ["closed", "closed"])
            #expect(!text.contains("127.0.0.1"))
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

    // MARK: Replacement

    @Test("After a reload, requests under way finish at the old instance and new ones go to the new")
    func instancesReplaced() async throws {
        let mayFinish = Mutex(false)
        try await withGateway(instances: [
            { connection, service in
                while let request = try await connection.message() {
                    service.record(request)
                    while !mayFinish.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
                    try await connection.send(ScriptedService.response("the old one"))
                }
            },
            ScriptedService.echo,
        ]) { fixture, services async throws in
            func use(_ service: ScriptedService) async throws {
                var configuration = fixture.gateway.state.configuration
                configuration.services = try configuration.services.map {
                    try UpstreamService(
                        name: $0.name,
                        prefixes: $0.prefixes,
                        urls: ["http://127.0.0.1:\(service.port)"]
                    )
                }
                try await fixture.gateway.reconfigure(configuration)
            }
            try await use(services[0])
            try await fixture.connect { waiting in
                try await waiting.send(fixture.signed("GET /conversations"))
                try await eventually { services[0].requests.count == 1 }
                try await use(services[1])
                #expect(try await fixture.load(20) == [200: 20])
                #expect(services[1].requests.count == 20)
                mayFinish.withLock { $0 = true }
                #expect(try await waiting.message()?.text == "the old one")
                // The client's connection stays open, and its next request goes to the new instance.
                try await waiting.send(fixture.signed("GET /conversations"))
                #expect(try await waiting.message()?.status == 200)
                #expect(services[0].requests.count == 1)
            }
        }
    }
}
