import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import HTTPTypes
import ServiceClient
import Testing
import Wire

/// Typical use through the gateway of the real executables.
extension SuiteTests {
    @Suite("User journeys") struct JourneyTests {
        @Test("Two users write, list and read the messages of a conversation")
        func messaging() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")

                let made = try await ana.conversations.create(ConversationDraft(label: "Sunday walk"))
                let joined = try await bo.conversations.join(made.token)
                _ = try await ana.conversations.send(MessageDraft(data: "Shall we?"), to: made.token)
                let last = try await bo.conversations.send(MessageDraft(data: "At ten."), to: made.token)

                #expect(joined.members == [ana.signIn.userId, bo.signIn.userId])
                let history = try await ana.conversations.messages(made.token)
                #expect(history.map(\.seq) == (1...last.seq).reversed())
                #expect(history.filter { $0.senderUser != nil }.map(\.data) == ["At ten.", "Shall we?"])
                let listed = try await ana.conversations.list().items
                #expect(listed.map(\.token) == [made.token])
                #expect(listed.first?.unreadCount == 1)

                try await ana.conversations.markRead(last.id, in: made.token)
                #expect(try await ana.conversations.conversation(made.token).unreadCount == 0)
            }
        }

        @Test("A sign-out ends the session at every service")
        func session() async throws {
            try await RunningSuite.with { suite in
                let ana = try await suite.person("ana")
                let second: SignIn = try await suite.gateway().post(
                    "/auth/refresh",
                    RefreshDraft(refreshToken: ana.signIn.refreshToken, deviceId: "test")
                )
                #expect(second.jwt != ana.signIn.jwt)
                // Every cache knows the session before it ends.
                let endpoints = [suite.gatewayPort, suite.authPort, suite.conversationsPort].map {
                    (suite.client(port: $0, jwt: second.jwt), $0 == suite.authPort ? "/auth/me" : "/conversations")
                }
                for (client, path) in endpoints {
                    #expect(try await client.send(.get, path).status == 200)
                }

                let _: Done = try await suite.gateway(jwt: second.jwt).post("/auth/logout", [String: String]())

                let ended = ContinuousClock.now
                for (client, path) in endpoints {
                    try await eventually(within: SuiteTests.promptLimit - (.now - ended), "refused at \(path)") {
                        do {
                            _ = try await client.send(.get, path)
                            return false
                        } catch let error as APIError {
                            return error.kind == .forbidden
                        }
                    }
                }
                await #expect(throws: APIError.self) {
                    let _: SignIn = try await suite.gateway().post(
                        "/auth/refresh",
                        RefreshDraft(refreshToken: second.refreshToken, deviceId: "test")
                    )
                }
            }
        }

        @Test("Schemathesis finds no response that docs/openapi.yaml does not describe")
        func openAPI() async throws {
            let settings = ["RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0"]
            try await RunningSuite.with(settings: settings) { suite in
                let seconds = SuiteTests.isSoak ? 600 : 30
                let arguments = ["http://127.0.0.1:\(suite.gatewayPort)", "--seconds", "\(seconds)"]
                let command = ProcessCommand(
                    "\(SuiteTests.root)/scripts/schemathesis",
                    arguments,
                    environment: suite.environment,
                    workingDirectory: SuiteTests.root
                )

                // The first run downloads its packages.
                let (status, output) = try await command.run(within: .seconds(3 * seconds + 480))

                #expect(status.isSuccess, "\(output)")
            }
        }

        /// Returns the text of each block of Bash commands in a document of the repository.
        private static func commands(in document: String) throws -> [String] {
            let text = try String(contentsOfFile: "\(SuiteTests.root)/\(document)", encoding: .utf8)
            return text.matches(of: #/```bash\n(?<text>(?s:.*?))```/#).map { String($0.text) }
        }

        @Test("The README's example is the beginning of the tutorial")
        func readme() throws {
            let example = try Self.commands(in: "README.md").joined().split(separator: "\n")
            let tutorial = try Self.commands(in: "docs/tutorial.md").joined().split(separator: "\n")
            #expect(!example.isEmpty)
            #expect(tutorial.starts(with: example))
        }

        @Test("Every command of the tutorial works and prints what the tutorial says")
        func tutorial() async throws {
            let blocks = try Self.commands(in: "docs/tutorial.md")
            try #require(blocks.count >= 4)
            // Push notifies only devices that are registered when it decides. The phone must not receive the earlier
            // messages, so push decides about them before the phone is registered.
            try #require(blocks.contains { $0.hasPrefix("phone=") })
            let decided = #"""
                until curl -s $roost/notifications/log -H "Authorization: Bearer $bo" |
                    jq -e '.entries[0]' >/dev/null; do sleep 0.2; done

                """#
            // Long enough for every network to respond on a slow machine.
            try await FakePhones.with(settings: ["SOCIAL_DEADLINE_MS": "15000"]) { suite, phones in
                let script = blocks.map { $0.hasPrefix("phone=") ? decided + $0 : $0 }.joined(separator: "\n")
                    .replacing("http://127.0.0.1:8080", with: "http://127.0.0.1:\(suite.gatewayPort)")
                    .replacing("http://127.0.0.1:8090", with: "http://127.0.0.1:\(phones.port)")
                    .replacing(
                        ".build/release/roost demo",
                        with: "\(RunningSuite.binaries)roost demo --directory '\(suite.directory)'"
                    )
                let command = ProcessCommand(
                    "bash",
                    ["-euo", "pipefail", "-c", script],
                    environment: suite.environment,
                    workingDirectory: SuiteTests.root
                )

                let (status, output) = try await command.run(within: .seconds(300))

                #expect(status.isSuccess, "\(output)")
                #expect(output.contains(#"{"text":"On the way #walk","likeCount":1,"commentCount":1}"#))
                #expect(output.contains(#"{"width":800,"height":1200,"blurhash":"#))
                #expect(output.contains("\"Sunday walk\""))
                #expect(output.contains(#","unreadCount":0}"#))
                #expect(output.contains(#"{"label":"Dinner","members":2}"#))
                #expect(output.contains(#"{"fullName":"Dora Lind","email":"dora-"#))
                #expect(output.contains("\"data\": \"Shall we?\""))
                #expect(output.contains("\"data\": \"At ten.\""))
                #expect(output.contains(#"{"title":"Sunday walk","body":"ana: Bring an umbrella.","badge":1}"#))
                #expect(output.contains(#"{"title":"Sunday walk","outcome":"#))
                #expect(output.contains("bluesky: linked\n"))
                #expect(!output.contains(": null"))
                #expect(output.contains(#"{"bluesky":200,"facebook":200,"mastodon":200,"tumblr":200}"#))
                #expect(output.contains(#"{"network":"facebook","list":"messages","text":"Are you up?"}"#))
                #expect(output.contains(#""body":"Live at eight","sound":"whistle"}"#))
                #expect(output.contains(#"{"broadcaster":"midnight_jam","title":"Live at eight","favourite":true}"#))
                #expect(output.contains(#"{"network":"reddit","state":"linked","username":"bo"}"#))
                #expect(output.contains(#""email":"cara@gmail.com","emailVerified":true}"#))
                #expect(output.contains(#""recovery_code.used""#))
                #expect(output.contains("account/account.json"))
            }
        }
    }
}

/// Tests of the real executables, each with its own folder, ports and PostgreSQL server.
@Suite("Real executables") enum SuiteTests {
    /// `make soak`: the same tests, longer.
    static let isSoak = ProcessInfo.processInfo.environment["SOAK"] != nil

    /// The limit for effects that are promised within a second, which is longer where the machine may be slow.
    ///
    /// It is shorter than caches last: a session that was looked up is valid for a minute, and a JWT for longer.
    static let promptLimit = Duration.seconds(isSoak ? 1 : 20)

    /// The root folder of the repository.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path(percentEncoded: false)
}
