import Configuration
import Logging
import Synchronization
import Testing

@testable import GatewayServer

/// SIGHUP: settings are read anew, and taken up or refused as a whole.
@Suite struct ReloadTests {
    /// What a settings file says, as the test rewrites it.
    private final class SettingsFile: Sendable {
        private let lines: Mutex<[String: String]>

        init(_ lines: [String: String]) { self.lines = Mutex(lines) }

        func set(_ name: String, _ value: String) { lines.withLock { $0[name] = value } }

        func read() -> ConfigReader {
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: lines.withLock { $0 }))
        }
    }

    private func reload(_ scene: GatewayScene, _ file: SettingsFile) async {
        var logger = Logger(label: "reload")
        logger.logLevel = .critical
        await ReloadOnHangup([scene.gateway], logger: logger) { file.read() }.reload()
    }

    @Test func instancesAndLimitsAreTakenUp() async throws {
        try await withGateway(instances: [ScriptedService.echo, ScriptedService.echo]) { scene, services in
            let file = SettingsFile([
                "AUTH_URL": "http://127.0.0.1:\(services[1].port)",
                "CONVERSATIONS_URL": "http://127.0.0.1:\(services[1].port)",
                "RATE_USER": "7", "HEALTH_INTERVAL": "0",
            ])
            await reload(scene, file)
            let answer = try await scene.get("/conversations")
            #expect(answer["ratelimit-policy"] == [#""user";q=70;w=10"#])
            #expect(try await scene.load(9) == [200: 9])
            #expect(services.map(\.requests.count) == [0, 10])
            // Ten are counted, whatever the limit was called before.
            file.set("RATE_USER", "1")
            await reload(scene, file)
            #expect(try await scene.get("/conversations")["ratelimit-policy"] == [#""user";q=10;w=10"#])
        }
    }

    @Test(arguments: [
        ("CONVERSATIONS_URL", "not a url"), ("CONVERSATIONS_URL", "https://127.0.0.1:1/path"), ("RATE_USER", "many"),
        ("BODY_MIN_RATE", "0"),
    ])
    func whatMakesNoSenseChangesNothing(name: String, value: String) async throws {
        try await withGateway(instances: [ScriptedService.echo]) { scene, services async throws in
            let file = SettingsFile([
                "AUTH_URL": "http://127.0.0.1:9", "CONVERSATIONS_URL": "http://127.0.0.1:9", "HEALTH_INTERVAL": "0",
            ])
            file.set(name, value)
            let before = scene.gateway.edge
            await reload(scene, file)
            #expect(scene.gateway.edge === before)
            #expect(try await scene.load(5) == [200: 5])
            #expect(services[0].requests.count == 5)
        }
    }
}
