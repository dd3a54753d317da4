import Foundation
import Testing

@testable import GatewayServer

@Suite("Pages of the gateway") struct GatewayPagesTests {
    private func perform(_ fixture: GatewayFixture, _ line: String, _ fields: String = "") async throws -> RawMessage {
        try await fixture.perform("\(line) HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")
    }

    @Test("A CORS preflight is answered without calling the service")
    func corsPreflight() async throws {
        try await withGateway { fixture in
            let fields =
                "origin: https://app.example\r\naccess-control-request-method: PATCH\r\n"
                + "access-control-request-headers: authorization, content-type\r\n"
            let response = try await perform(fixture, "OPTIONS /auth/me", fields)
            #expect(response.status == 204)
            #expect(response["access-control-allow-origin"] == ["*"])
            #expect(response["access-control-allow-headers"] == ["authorization, content-type"])
            #expect(response["access-control-allow-methods"].first?.contains("PATCH") ?? false)
            #expect(response["access-control-allow-credentials"].isEmpty)
            #expect(response["content-length"].isEmpty)
            #expect(try await perform(fixture, "OPTIONS /nowhere", fields).status == 404)
            #expect(try await perform(fixture, "OPTIONS /auth/me")["allow"] == ["GET, HEAD, PATCH, DELETE, OPTIONS"])
            #expect(try await perform(fixture, "OPTIONS *").status == 204)
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("Every response to a request with an origin has CORS fields")
    func corsFields() async throws {
        try await withGateway { fixture in
            let fields = "origin: https://app.example\r\n"
            for response in [
                try await fixture.get("/conversations", fields: fields),
                try await perform(fixture, "GET /auth/me", fields),
                try await perform(fixture, "GET /nowhere", fields), try await perform(fixture, "GET /health", fields),
            ] {
                #expect(response["access-control-allow-origin"] == ["*"])
                #expect(response["access-control-expose-headers"].first?.contains("x-request-id") ?? false)
            }
            #expect(try await fixture.get("/conversations")["access-control-allow-origin"].isEmpty)
        }
    }

    @Test("An origin that is not listed gets no CORS permission")
    func unlistedOrigin() async throws {
        try await withGateway(settings: { $0.corsOrigins = ["https://app.example"] }) { fixture in
            let good = try await fixture.get("/conversations", fields: "origin: https://app.example\r\n")
            #expect(good["access-control-allow-origin"] == ["https://app.example"])
            #expect(good["vary"] == ["origin"])
            let bad = try await fixture.get("/conversations", fields: "origin: https://evil.example\r\n")
            #expect(bad["access-control-allow-origin"].isEmpty)
            #expect(bad["vary"] == ["origin"])
            let preflight = "origin: https://evil.example\r\naccess-control-request-method: GET\r\n"
            #expect(try await perform(fixture, "OPTIONS /auth/me", preflight)["access-control-allow-methods"].isEmpty)
        }
    }

    @Test("The status shows which services are up, and checks them at most once a second")
    func statusReport() async throws {
        try await withGateway(settings: { configuration in
            let down = try UpstreamService(
                name: "conversations",
                prefixes: ["/conversations"],
                urls: ["http://127.0.0.1:9"]
            )
            configuration.services = [configuration.services[0], down]
        }) { fixture in
            let statuses = try await waitForReport({ $0.first == "auth up" }) {
                let response = try await perform(fixture, "GET /status")
                #expect(response.status == 200)
                let report = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
                let services = try #require(report?["services"] as? [[String: Any]])
                return services.map { "\($0["name"] ?? "") \($0["status"] ?? "")" }
            }
            #expect(statuses == ["auth up", "conversations down"])
            // Many requests cause one check a second.
            func checks() -> Int { fixture.service.requests.count { $0.target == "/ready" } }
            let (requests, before) = (50, checks())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<requests { group.addTask { _ = try await perform(fixture, "GET /status") } }
                try await group.waitForAll()
            }
            #expect(checks() - before < requests / 2)
        }
    }

    @Test("The status shows restarts and the last exit of a service that reports them")
    func restarts() async throws {
        let fields =
            "x-roost-restarts: 4\r\nx-roost-last-exit: signal 11\r\nx-roost-last-exit-at: 2026-11-24T10:00:00.000Z\r\n"
        try await withGateway(script: { connection, _ in
            while try await connection.message() != nil {
                try await connection.send(ScriptedService.response("", fields: fields))
            }
        }) { fixture in
            let first = try await waitForReport({ $0["status"] as? String == "up" }) {
                let response = try await perform(fixture, "GET /status")
                let report = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
                return try #require((report?["services"] as? [[String: Any]])?.first)
            }
            #expect(first["restarts"] as? Int == 4)
            let exit = first["lastExit"] as? [String: String]
            #expect(exit == ["reason": "signal 11", "at": "2026-11-24T10:00:00.000Z"])
            let instance = (first["perInstance"] as? [[String: Any]])?.first
            #expect(instance?["restarts"] as? Int == 4)
        }
    }

    @Test("Documents have an entity tag and support HEAD")
    func documentETag() async throws {
        try await withGateway { fixture in
            for page in ["/openapi.yaml", "/docs", "/docs/socket-events"] {
                let first = try await perform(fixture, "GET \(page)")
                #expect(first.status == 200)
                let etag = try #require(first["etag"].first)
                let second = try await perform(fixture, "GET \(page)", "if-none-match: \(etag)\r\n")
                #expect(second.status == 304)
                #expect(second.body.isEmpty)
                let head = try await perform(fixture, "HEAD \(page)")
                #expect(head["content-length"] == ["\(first.body.count)"])
            }
            #expect(try await perform(fixture, "GET /openapi.yaml").text == GatewayFixture.document)
            #expect(try await perform(fixture, "POST /docs", "content-length: 0\r\n").status == 405)
        }
    }

    @Test("The embedded OpenAPI document is docs/openapi.yaml with the common responses")
    func embeddedDocument() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try String(contentsOf: root.appending(path: "docs/openapi.yaml"), encoding: .utf8)
        #expect(try OpenAPIDocument.embedded().text == CommonResponses.added(to: file))
    }

    @Test("The page of socket events shows the tables of its document")
    func socketEvents() async throws {
        try await withGateway { fixture in
            let page = try await perform(fixture, "GET /docs/socket-events")
            #expect(page["content-type"] == ["text/html; charset=utf-8"])
            #expect(page["content-security-policy"].first?.hasPrefix("default-src 'none'") ?? false)
            #expect(page.text.contains("<h1 id=\"socket-io\">Socket.IO</h1>"))
            #expect(page.text.contains("<tr><td><code>message/updated</code></td>"))
            #expect(page.text.contains("<thead><tr><th>event</th><th>payload</th>"))
            #expect(page.text.contains("<a href=\"https://socket.io\">Socket.IO</a>"))
            #expect(!page.text.contains("| --- |"))
            #expect(try await perform(fixture, "GET /docs").text.contains("<a href=\"/docs/socket-events\">"))
        }
    }

    @Test("Markdown becomes HTML, and HTML in it becomes text")
    func markdown() {
        let document = MarkdownDocument(
            """
            # A <b>title</b>
            One `<tag>` and
            **two** of [a page](https://example.org/?a=1&b=2), [a file](other.md), [a script](javascript:alert).

            - first
              goes on
            - second
            1. third

            | a | b \\| c |
            | --- | :-: |
            | `x` | <i> |

            ```swift
            let a = "<&>"
            # no heading
            ```
            """
        )
        let parts = [
            "<h1 id=\"a-b-title-b\">A &lt;b&gt;title&lt;/b&gt;</h1>",
            "<p>One <code>&lt;tag&gt;</code> and <strong>two</strong> of ",
            "<a href=\"https://example.org/?a=1&amp;b=2\">a page</a>, a file, a script.</p>",
            "<ul><li>first goes on</li><li>second</li></ul><ol><li>third</li></ol>",
            "<table><thead><tr><th>a</th><th>b | c</th></tr></thead><tbody>",
            "<tr><td><code>x</code></td><td>&lt;i&gt;</td></tr></tbody></table>",
            "<pre>let a = &quot;&lt;&amp;&gt;&quot;\n# no heading</pre>",
        ]
        #expect(document.html == parts.joined())
        #expect(document.headings.map(\.level) == [1])
    }

    @Test("Health does not call a service")
    func healthCallsNoService() async throws {
        try await withGateway { fixture async throws in
            #expect(try await perform(fixture, "GET /health").text == #"{"status":"ok"}"#)
            #expect(fixture.service.requests.isEmpty)
        }
    }
}
