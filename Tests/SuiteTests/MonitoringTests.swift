import AsyncHTTPClient
import AuthAPI
import ConversationsAPI
import Foundation
import HTTPTypes
import NIOCore
import ServiceClient
import TestSupport
import Testing

/// What operators look at.
extension SuiteTests {
    @Suite struct MonitoringTests {
        @Test func documentedMetricsExist() async throws {
            // With the sandbox, so that there are networks to be asked, and somebody asks them.
            try await FakePhones.with { suite, _ in
                let ana = try await suite.person("ana")
                let made = try await ana.conversations.create(ConversationDraft(label: "watched"))
                _ = try await ana.conversations.send(MessageDraft(data: "Hello?"), to: made.token)
                _ = try await suite.demo()
                for stream in ["/stream", "/photos/posts/stream"] {
                    let (port, jwt) = (suite.gatewayPort, ana.signIn.jwt)
                    try await EventStreamClient.with(port: port, stream, token: jwt) { _ = await $0.next() }
                }

                let services = [
                    suite.authPort, suite.conversationsPort, suite.photosPort, suite.pushPort, suite.socialPort,
                ]
                let watched = [
                    "deploy/monitoring/grafana-dashboard.json", "deploy/monitoring/alerts.yml", "docs/monitoring.md",
                ]
                let named = try watched.map { file in
                    let lines = try Self.text(file).split(separator: "\n")
                        .filter { !$0.contains("Absent before the first") }
                    return Self.names(in: lines.joined(separator: "\n"))
                }
                let asked: Set<String> = ["roost_social_broadcast_polls_total", "roost_social_polls_total"]
                let awaited = named.reduce(asked) { $0.union($1) }
                var exported: Set<String> = []
                // It is asked every five seconds what is live, and every fifteen what is new on networks; what else is
                // noted now and then may come later still. Silence: what has not come is named below.
                try? await eventually(within: .seconds(120), "exported") {
                    exported = []
                    for port in services + [suite.managementPort] {
                        exported.formUnion(try await Self.metrics(port: port))
                    }
                    return exported.isSuperset(of: awaited)
                }

                #expect(exported.isSuperset(of: asked))
                for (file, names) in zip(watched, named) {
                    let unknown = names.subtracting(exported).sorted()
                    #expect(unknown.isEmpty, "\(file) names what is not exported: \(unknown)")
                }
                let said = Self.names(in: try Self.text("docs/monitoring.md") + Self.text("docs/operations.md"))
                let families = exported.filter { name in
                    !["_bucket", "_sum", "_count"].contains { name.hasSuffix($0) }
                }
                let unsaid = families.subtracting(said).sorted()
                #expect(unsaid.isEmpty, "docs/monitoring.md does not name \(unsaid)")
            }
        }

        @Test func logFormat() async throws {
            try await RunningSuite.with(settings: ["LOG_LEVEL": "info"]) { suite in
                let ana = try await suite.person("ana")
                let answer = try await ana.service.send(.get, "/conversations")
                #expect(answer.status == 200)

                // A line is written after its answer.
                try await eventually(within: .seconds(60), "logged by both that saw it") {
                    try Self.requests(
                        loggedBy: ["auth", "conversations", "photos", "push", "social", "gateway"],
                        of: suite
                    ) >= 2
                }
            }
        }

        /// Looks at every line of the services' logs, and counts those of requests of conversations.
        private static func requests(loggedBy services: [String], of suite: RunningSuite) throws -> Int {
            var requests = 0
            for service in services {
                let path = "\(suite.directory)/.roost/logs/\(service).log"
                let text = try String(contentsOfFile: path, encoding: .utf8)
                // The last one may be on its way.
                for line in text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n") {
                    let fields = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
                    #expect(fields["service"] == service)
                    #expect(fields["time"]?.hasSuffix("Z") == true)
                    #expect(fields["level"] != nil && fields["message"] != nil)
                    #expect(fields["route"] != "/ready" || fields["status"] != "200", "a probe drowns the rest")
                    guard fields["message"] == "request", fields["route"]?.hasPrefix("/conversations") == true
                    else { continue }
                    requests += 1
                    #expect(fields["requestId"] != nil && fields["traceId"]?.count == 32, "\(line)")
                }
            }
            return requests
        }

        private static func text(_ file: String) throws -> String {
            try String(contentsOfFile: "\(SuiteTests.root)/\(file)", encoding: .utf8)
        }

        /// The names that a process exports, those of a histogram's series and of the histogram itself.
        private static func metrics(port: Int) async throws -> Set<String> {
            let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/metrics")
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
            let text = String(buffer: try await response.body.collect(upTo: 4 << 20))
            return names(in: text)
        }

        private static func names(in text: String) -> Set<String> {
            Set(text.matches(of: #/\b(?:roost|postgres|event_bus)_[a-z0-9_]*[a-z0-9]\b/#).map { String($0.output) })
                .subtracting(
                    roles
                )
        }

        /// Names of the same form that are none of metrics.
        private static let roles: Set<String> = [
            "roost_auth", "roost_conversations", "roost_photos", "roost_push", "roost_social",
        ]
    }
}
