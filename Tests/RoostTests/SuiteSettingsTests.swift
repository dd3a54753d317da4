import ChildProcesses
import Foundation
import Testing

@testable import roost

@Suite("Backoff") struct BackoffTests {
    @Test("The pauses between restarts grow up to a maximum")
    func growingPauses() {
        var backoff = Backoff()

        let pauses = (0..<9).map { _ in backoff.pause(afterRunning: .seconds(1)) }

        #expect(pauses.prefix(4) == [.zero, .milliseconds(100), .milliseconds(200), .milliseconds(400)])
        #expect(pauses.last == Backoff.maximumPause)
    }

    @Test("A process that ran long enough restarts without a pause")
    func resetAfterUptime() {
        var backoff = Backoff()
        _ = (0..<5).map { _ in backoff.pause(afterRunning: .zero) }

        #expect(backoff.pause(afterRunning: Backoff.resetTime) == .zero)
        #expect(backoff.pause(afterRunning: .zero) == .milliseconds(100))
    }
}

/// Makes a folder for a test, and removes it at the end.
private func withFolder<T>(_ body: (String) throws -> T) throws -> T {
    let folder = "\(NSTemporaryDirectory())/roost-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
        // A temporary folder may stay behind.
        try? FileManager.default.removeItem(atPath: folder)
    }
    return try body(folder)
}

@Suite("Environment files") struct EnvironmentFileTests {
    @Test("Values are literal, without quotes, comments or expansion")
    func literalValues() throws {
        try withFolder { folder in
            let text = "# a comment\n\n A = 1 \nB=\"two words\"\nC='it=is $HOME'\nD=\nE=#5\n"
            try text.write(toFile: "\(folder)/.env", atomically: true, encoding: .utf8)

            let values = try EnvironmentFile(path: "\(folder)/.env").read()

            #expect(values == ["A": "1", "B": "two words", "C": "it=is $HOME", "D": "", "E": "#5"])
        }
    }

    @Test("A malformed line is an error with its number")
    func malformedLine() throws {
        try withFolder { folder in
            try "A=1\nnonsense\n".write(toFile: "\(folder)/.env", atomically: true, encoding: .utf8)

            let error = #expect(throws: Workspace.Problem.self) { try EnvironmentFile(path: "\(folder)/.env").read() }

            #expect(error?.description.contains("line 2") == true)
        }
    }

    @Test("A written file is readable by its owner only")
    func ownerOnlyPermissions() throws {
        try withFolder { folder in
            let file = EnvironmentFile(path: "\(folder)/secrets.env")

            try file.write(["KEY": "a=b+/"], heading: "made here")

            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(try file.read() == ["KEY": "a=b+/"])
        }
    }
}

@Suite("Suite settings") struct SuiteSettingsTests {
    private func settings(_ environment: [String: String], file: String = "") throws -> SuiteSettings {
        try withFolder { folder in
            try file.write(toFile: "\(folder)/.env", atomically: true, encoding: .utf8)
            let workspace = try Workspace(root: folder)
            try FileManager.default.createDirectory(atPath: workspace.folder, withIntermediateDirectories: true)
            return try SuiteSettings(workspace: workspace, makingSecrets: true, environment: environment)
        }
    }

    @Test("The environment takes precedence over the file")
    func environmentPrecedence() throws {
        let settings = try settings(["LOG_LEVEL": "debug"], file: "LOG_LEVEL=error\nWRITE_SHARDS=3\n")

        #expect(settings.given["LOG_LEVEL"] == "debug")
        #expect(settings.given["WRITE_SHARDS"] == "3")
    }

    @Test("Each local URL of a service is an instance, and remote ones are not started")
    func instancePerLocalAddress() throws {
        let settings = try settings([
            "CONVERSATIONS_URL": "http://127.0.0.1:9001, http://10.0.0.9:8082,http://localhost:9002",
            "PORT": "9000",
        ])

        let instances = try settings.instances().map { "\($0.name) \($0.port)" }

        #expect(
            instances == [
                "sandbox 8090", "auth 8081", "conversations 9001", "conversations-2 9002", "photos 8084", "push 8085",
                "social 8083", "gateway 9000",
            ]
        )
    }

    @Test(
        "The sandbox runs unless keys of providers are given, or as SANDBOX says",
        arguments: [
            ([:], true), (["APNS_KEY": "key.p8"], false), (["FCM_SERVICE_ACCOUNT": "account.json"], false),
            (["SANDBOX": "0"], false), (["SANDBOX": "1", "APNS_KEY": "key.p8"], true),
        ]
    )
    func sandboxWithoutKeys(environment: [String: String], runs: Bool) throws {
        let settings = try settings(environment)

        #expect(try settings.instances().contains { $0.name == "sandbox" } == runs)
        #expect(throws: Workspace.Problem.self) { try self.settings(["SANDBOX": "perhaps"]).instances() }
    }

    @Test("The sandbox has its ports and folder from the settings")
    func sandboxPortsAndFolder() throws {
        let settings = try settings(["SANDBOX_URL": "http://127.0.0.1:9190", "SANDBOX_APNS_PORT": "9191"])
        let sandbox = try #require(try settings.instances().first { $0.name == "sandbox" })

        #expect(try settings.neededPorts(for: [sandbox]).map(\.port.number) == [9_190, 9_191, 8_092, 8_093])
        let environment = try settings.environment(of: sandbox, databaseURL: nil)
        #expect(environment["SANDBOX_FOLDER"] == ".roost/sandbox")
        #expect(environment["PORT"] == "9190")
    }

    @Test("Each service gets only its own secrets")
    func secretsPerService() throws {
        let settings = try settings([
            "AUTH_DATABASE_URL": "postgres://other", "HOST": "0.0.0.0", "PORT": "80", "APNS_KEY": "Apple's",
            "REDDIT_CLIENT_SECRET": "Reddit's", "DEMO_PASSWORD": "given",
        ])

        for instance in try settings.instances() {
            let environment = try settings.environment(of: instance, databaseURL: "postgres://\(instance.name)")
            #expect(environment["SERVICE_SECRET"] == nil)
            #expect((environment["SERVICE_KEY"] != nil) == (instance.name != "sandbox"))
            #expect(!environment.keys.contains { $0.hasSuffix("_SERVICE_KEY") })
            #expect((environment["TOKEN_ENCRYPTION_KEY"] != nil) == ["auth", "social"].contains(instance.name))
            #expect((environment["REDDIT_CLIENT_SECRET"] != nil) == (instance.name == "social"))
            #expect(environment["DEMO_PASSWORD"] == nil)
            #expect((environment["VAPID_PRIVATE_KEY"] != nil) == (instance.name == "push"))
            #expect((environment["APNS_KEY"] != nil) == (instance.name == "push"))
            #expect(environment["AUTH_DATABASE_URL"] == nil)
            #expect(environment["DATABASE_URL"] == "postgres://\(instance.name)")
            #expect(!environment.keys.contains { $0.hasPrefix("DATABASE_PASSWORD") })
            #expect(environment["HOST"] == (instance.name == "gateway" ? "0.0.0.0" : "127.0.0.1"))
            #expect(environment["SUPERVISED"] == "1")
        }
    }

    @Test("Auth and social encrypt with keys of their own, and the shared key of earlier releases still decrypts")
    func encryptionKeys() throws {
        func keys(_ given: [String: String], _ kept: [String: String]) throws -> [String?] {
            let settings = SuiteSettings(given: given, secrets: Secrets(values: kept))
            return try ["auth", "social", "photos"].map { name in
                let instance = try #require(try settings.instances().first { $0.name == name })
                let environment = try settings.environment(of: instance, databaseURL: nil)
                #expect(environment.keys.allSatisfy { !$0.hasSuffix("_TOKEN_ENCRYPTION_KEY") })
                return environment["TOKEN_ENCRYPTION_KEY"]
            }
        }
        let own = ["AUTH_TOKEN_ENCRYPTION_KEY": "a", "SOCIAL_TOKEN_ENCRYPTION_KEY": "s"]
        #expect(try keys([:], own) == ["a", "s", nil])
        #expect(try keys([:], own.merging(["TOKEN_ENCRYPTION_KEY": "old"]) { $1 }) == ["a,old", "s,old", nil])
        #expect(try keys(["TOKEN_ENCRYPTION_KEY": "old"], [:]) == ["old", "old", nil])
        #expect(try keys(["TOKEN_ENCRYPTION_KEY": ""], own) == ["a", "s", nil])
    }

    @Test("An upgrade makes the missing keys and keeps the shared one; an operator's shared key stays the only one")
    func upgradedKeys() throws {
        try withFolder { folder in
            let workspace = try Workspace(root: folder)
            try FileManager.default.createDirectory(atPath: workspace.folder, withIntermediateDirectories: true)
            let given = try Secrets.prepare(in: workspace, environment: ["TOKEN_ENCRYPTION_KEY": "the operator's"])
            #expect(given.values["TOKEN_ENCRYPTION_KEY"] == "the operator's")
            #expect(given.values["AUTH_TOKEN_ENCRYPTION_KEY"] == nil)

            try EnvironmentFile(path: workspace.secretsFile).write(["TOKEN_ENCRYPTION_KEY": "old"], heading: "")
            let upgraded = try Secrets.prepare(in: workspace, environment: [:]).values
            #expect(upgraded["TOKEN_ENCRYPTION_KEY"] == "old")
            let own = ["AUTH_TOKEN_ENCRYPTION_KEY", "SOCIAL_TOKEN_ENCRYPTION_KEY"].compactMap { upgraded[$0] }
            #expect(Set(own).count == 2)
            #expect(!own.contains("old"))
        }
    }

    @Test("Events have default subscribers unless others are given")
    func defaultSubscribers() throws {
        for (given, expected) in [([:], "session.ended=push"), (["EVENT_SUBSCRIBERS": "a=b"], "a=b")] {
            let settings = try settings(given)
            for instance in try settings.instances() {
                let subscribers = try settings.environment(of: instance, databaseURL: nil)["EVENT_SUBSCRIBERS"]
                #expect(subscribers?.split(separator: ",").contains(expected[...]) == true)
            }
        }
    }

    @Test("Secrets are made once, and are not made again for an existing database")
    func secretsAreMadeOnce() throws {
        try withFolder { folder in
            let workspace = try Workspace(root: folder)
            try FileManager.default.createDirectory(atPath: workspace.folder, withIntermediateDirectories: true)

            let first = try Secrets.prepare(in: workspace, environment: [:])
            let second = try Secrets.prepare(in: workspace, environment: [:])

            #expect(first.values == second.values)
            #expect(Set(first.values.values).count == first.values.count)
            let demo = try Secrets.demoPassword(in: workspace, given: [:])
            #expect(try Secrets.demoPassword(in: workspace, given: ["DEMO_PASSWORD": ""]) == demo)
            #expect(try Secrets.demoPassword(in: workspace, given: ["DEMO_PASSWORD": "mine"]) == "mine")
            let third = try Secrets.prepare(in: workspace, environment: [:]).values
            #expect(third.filter { $0.key != "DEMO_PASSWORD" } == first.values)

            try FileManager.default.removeItem(atPath: workspace.secretsFile)
            try FileManager.default.createDirectory(
                atPath: "\(workspace.postgres)/data",
                withIntermediateDirectories: true
            )
            defer {
                // An empty folder may stay behind.
                try? FileManager.default.removeItem(atPath: workspace.postgres)
            }
            #expect(throws: Workspace.Problem.self) { try Secrets.prepare(in: workspace, environment: [:]) }
            _ = try Secrets.prepare(in: workspace, environment: ["TOKEN_ENCRYPTION_KEY": "the operator's"])
        }
    }
}

@Suite("Checks of providers") struct ProviderChecksTests {
    private static let appleSettings = [
        "APNS_KEY": "k", "APNS_KEY_ID": "i", "APNS_TEAM_ID": "t", "APNS_TOPIC": "org.example.app",
    ]

    @Test("Missing push settings are a warning, incomplete ones a failure")
    func missingPushSettings() {
        var half = Self.appleSettings
        half["APNS_TEAM_ID"] = ""
        let account = ["FCM_SERVICE_ACCOUNT": "{}"]
        let seen = [[:], Self.appleSettings.merging(account) { $1 }, half].map { given in
            let given = given.merging(["SANDBOX": "0"]) { $1 }
            let settings = SuiteSettings(given: given, secrets: Secrets(values: [:]))
            return ProviderChecks(settings: settings).findings().map(\.severity)
        }

        #expect(seen == [[.warning, .warning], [.ok, .ok], [.failure, .warning]])
        let sandboxed = SuiteSettings(given: [:], secrets: Secrets(values: [:]))
        #expect(ProviderChecks(settings: sandboxed).findings().map(\.severity) == [.ok])
    }
}
