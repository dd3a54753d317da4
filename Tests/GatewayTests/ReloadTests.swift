import Configuration
import Logging
import Synchronization
import Testing

@testable import GatewayServer

/// SIGHUP: settings are read again, and applied or refused as a whole.
@Suite("Reloading settings") struct ReloadTests {
    /// The settings file, which a test rewrites.
    private final class SettingsFile: Sendable {
        private let lines: Mutex<[String: String]>

        init(_ lines: [String: String]) { self.lines = Mutex(lines) }

        func set(_ name: String, _ value: String) { lines.withLock { $0[name] = value } }

        func read() -> ConfigReader {
            ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: lines.withLock { $0 }))
        }
    }

    private func reload(_ fixture: GatewayFixture, _ file: SettingsFile) async {
        var logger = Logger(label: "reload")
        logger.logLevel = .critical
        await ReloadOnSIGHUP([fixture.gateway], logger: logger) { file.read() }.reload()
    }

    @Test("New instances and limits apply after a reload")
    func instancesAndLimits() async throws {
        try await withGateway(instances: [ScriptedService.echo, ScriptedService.echo]) { fixture, services in
            let file = SettingsFile([
                "AUTH_URL": "http://127.0.0.1:\(services[1].port)",
                "CONVERSATIONS_URL": "http://127.0.0.1:\(services[1].port)",
                "RATE_USER": "7", "HEALTH_INTERVAL": "0",
            ])
            await reload(fixture, file)
            let response = try await fixture.get("/conversations")
            #expect(response["ratelimit-policy"] == [#""user";q=70;w=10"#])
            #expect(try await fixture.load(9) == [200: 9])
            #expect(services.map(\.requests.count) == [0, 10])
            // The ten requests still count after the limit has changed.
            file.set("RATE_USER", "1")
            await reload(fixture, file)
            #expect(try await fixture.get("/conversations")["ratelimit-policy"] == [#""user";q=10;w=10"#])
        }
    }

    @Test(
        "A reload with an invalid setting changes nothing",
        arguments: [
            ("CONVERSATIONS_URL", "not a url"), ("CONVERSATIONS_URL", "https://127.0.0.1:1/path"),
            ("RATE_USER", "many"),
            ("HEADER_TIMEOUT", "0"),
        ]
    )
    func invalidSetting(name: String, value: String) async throws {
        try await withGateway(instances: [ScriptedService.echo]) { fixture, services async throws in
            let file = SettingsFile([
                "AUTH_URL": "http://127.0.0.1:9", "CONVERSATIONS_URL": "http://127.0.0.1:9", "HEALTH_INTERVAL": "0",
            ])
            file.set(name, value)
            let before = fixture.gateway.state
            await reload(fixture, file)
            #expect(fixture.gateway.state === before)
            #expect(try await fixture.load(5) == [200: 5])
            #expect(services[0].requests.count == 5)
        }
    }
}
