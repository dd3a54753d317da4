import AuthAPI
import ChildProcesses
import ConversationsAPI
import Foundation
import Glibc
import HTTPTypes
import LocalPostgres
import ServiceClient
import Synchronization
import Testing
import Wire

/// Two instances of each service behind the gateway.
extension SuiteTests {
    @Suite("Several instances") struct InstancesTests {
        private static let senders = 8

        @Test("A rolling restart of two instances fails no request")
        func rollingRestart() async throws {
            let ports = try LoopbackPort.free(4).map(\.number)
            let settings = [
                "RATE_USER": "0", "RATE_ADDRESS": "0", "RATE_REGISTER": "0",
                "AUTH_URL": "http://127.0.0.1:\(ports[0]),http://127.0.0.1:\(ports[1])",
                "CONVERSATIONS_URL": "http://127.0.0.1:\(ports[2]),http://127.0.0.1:\(ports[3])",
            ]
            try await RunningSuite.with(settings: settings) { suite in
                let ana = try await suite.person("ana")
                let made = try await ana.conversations.create(ConversationDraft(label: "load"))
                let load = SteadyLoad(person: ana, token: made.token)
                let sending = Task { await load.run(senders: Self.senders) }
                try await eventually(within: .seconds(60), "under way") { load.acknowledged.count >= 50 }

                for (name, port) in zip(["auth", "auth-2", "conversations", "conversations-2"], ports) {
                    let process = try suite.process(name)
                    process.signal(SIGTERM)
                    #expect(await process.hasEnded(within: .seconds(60)), "\(name) ended")
                    // The supervisor starts it again, and the next instance is stopped when this one is ready.
                    try await eventually(within: .seconds(60), "\(name) ready") {
                        // Silence: the instance may not listen yet.
                        (try? await suite.client(port: port, jwt: nil).send(.get, "/ready")) != nil
                    }
                    let before = load.acknowledged.count
                    try await eventually(within: .seconds(60), "load continuing") {
                        load.acknowledged.count > before + 100
                    }
                }

                load.stop()
                await sending.value
                #expect(load.failures.isEmpty, "\(load.failures.count) failed: \(load.failures.prefix(3))")
                let found = try await history(of: made.token, by: ana)
                #expect(found == load.acknowledged)

                let port = try #require(suite.environment["MANAGEMENT_PORT"].flatMap { Int($0) })
                let management = suite.client(port: port, jwt: nil)
                for port in ports[2...] {
                    let names = #"{service="conversations",instance="127.0.0.1:\#(port)""#
                    let expected = [
                        "roost_gateway_upstream_in_rotation\(names)} 1.0",
                        "roost_gateway_upstream_circuit_state\(names)} 0.0",
                        "roost_gateway_upstream_requests_total\(names),status=\"2xx\"}",
                        "roost_gateway_upstream_response_duration_seconds_count\(names)}",
                        "roost_gateway_upstream_pool_connections\(names),state=\"idle\"}",
                    ]
                    // A restarted instance is in rotation after a health check has found it ready.
                    for line in expected {
                        try await eventually(within: .seconds(60), "\(line)") {
                            String(decoding: try await management.send(.get, "/metrics").body, as: UTF8.self).contains(
                                line
                            )
                        }
                    }
                }
            }
        }

        @Test("SIGHUP reloads the settings file, and an invalid file changes nothing")
        func reload() async throws {
            let file = "\(NSTemporaryDirectory())/roost-settings-\(UUID().uuidString)"
            defer { unlink(file) }
            try "RATE_USER=5\n".write(toFile: file, atomically: true, encoding: .utf8)
            try await RunningSuite.with(settings: ["SETTINGS_FILE": file]) { suite in
                let ana = try await suite.person("ana")
                func policy() async throws -> String? {
                    let response = try await ana.service.send(.get, "/conversations")
                    return response.headers.first { $0.name.canonicalName == "ratelimit-policy" }?.value
                }
                #expect(try await policy() == #""user";q=50;w=10"#)

                try "RATE_USER=7\n".write(toFile: file, atomically: true, encoding: .utf8)
                try suite.process("gateway").signal(SIGHUP)
                try await eventually(within: .seconds(60), "limit changed") {
                    try await policy() == #""user";q=70;w=10"#
                }

                try "RATE_USER=a few\n".write(toFile: file, atomically: true, encoding: .utf8)
                let gateway = try suite.process("gateway")
                gateway.signal(SIGHUP)
                try await eventually(within: .seconds(60), "invalid setting logged") {
                    let path = "\(suite.directory)/.roost/logs/gateway.log"
                    // Silence: the log exists from its first line on.
                    return (try? String(contentsOfFile: path, encoding: .utf8))?.contains("RATE_USER is") ?? false
                }
                #expect(try await policy() == #""user";q=70;w=10"#)
                #expect(gateway.isAlive)
            }
        }

        /// Returns `seq` by `clientMessageId` of the whole history.
        private func history(of token: String, by person: Person) async throws -> [String: Int64] {
            var found: [String: Int64] = [:]
            var last: Int64 = 0
            while true {
                let query = [("afterSeq", "\(last)"), ("count", "100")]
                let page = try await person.conversations.messages(token, query: query)
                guard let newest = page.map(\.seq).max() else { return found }
                for message in page { found[message.clientMessageId ?? ""] = message.seq }
                last = newest
            }
        }
    }
}

/// Senders that send each message once, until they are stopped.
private final class SteadyLoad: Sendable {
    private struct State {
        var acknowledged: [String: Int64] = [:]
        var failures: [String] = []
        var isStopped = false
    }

    private let person: Person
    private let token: String
    private let state = Mutex(State())

    init(person: Person, token: String) {
        self.person = person
        self.token = token
    }

    /// `seq` by `clientMessageId`.
    var acknowledged: [String: Int64] { state.withLock(\.acknowledged) }
    var failures: [String] { state.withLock(\.failures) }

    func stop() { state.withLock { $0.isStopped = true } }

    func run(senders: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask { [self] in
                    var number = 0
                    while !state.withLock(\.isStopped) {
                        number += 1
                        await sendMessage("\(sender) \(number)")
                    }
                }
            }
        }
    }

    private func sendMessage(_ text: String) async {
        do {
            let message = try await person.conversations.send(
                MessageDraft(data: text, clientMessageId: text),
                to: token
            )
            state.withLock { $0.acknowledged[text] = message.seq }
            // Requests to auth must not fail either.
            _ = try await person.service.send(.get, "/auth/sessions")
        } catch {
            state.withLock { $0.failures.append("\(text): \(error)") }
        }
    }
}
