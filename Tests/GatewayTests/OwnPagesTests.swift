import Foundation
import Testing

@testable import GatewayServer

@Suite struct OwnPagesTests {
    private func ask(_ scene: GatewayScene, _ line: String, _ fields: String = "") async throws -> RawMessage {
        try await scene.ask("\(line) HTTP/1.1\r\nhost: a\r\n\(fields)\r\n")
    }

    @Test func aPreflightIsAnsweredAtTheEdge() async throws {
        try await withGateway { scene in
            let fields =
                "origin: https://app.example\r\naccess-control-request-method: PATCH\r\n"
                + "access-control-request-headers: authorization, content-type\r\n"
            let answer = try await ask(scene, "OPTIONS /auth/me", fields)
            #expect(answer.status == 204)
            #expect(answer["access-control-allow-origin"] == ["*"])
            #expect(answer["access-control-allow-headers"] == ["authorization, content-type"])
            #expect(answer["access-control-allow-methods"].first?.contains("PATCH") ?? false)
            #expect(answer["access-control-allow-credentials"].isEmpty)
            #expect(answer["content-length"].isEmpty)
            #expect(try await ask(scene, "OPTIONS /nowhere", fields).status == 404)
            #expect(try await ask(scene, "OPTIONS /auth/me")["allow"] == ["GET, HEAD, PATCH, DELETE, OPTIONS"])
            #expect(try await ask(scene, "OPTIONS *").status == 204)
            #expect(scene.service.requests.isEmpty)
        }
    }

    @Test func everyAnswerToAPageOfAnotherOriginSaysSo() async throws {
        try await withGateway { scene in
            let fields = "origin: https://app.example\r\n"
            for answer in [
                try await scene.get("/conversations", fields: fields), try await ask(scene, "GET /auth/me", fields),
                try await ask(scene, "GET /nowhere", fields), try await ask(scene, "GET /health", fields),
            ] {
                #expect(answer["access-control-allow-origin"] == ["*"])
                #expect(answer["access-control-expose-headers"].first?.contains("x-request-id") ?? false)
            }
            #expect(try await scene.get("/conversations")["access-control-allow-origin"].isEmpty)
        }
    }

    @Test func originsThatAreNotNamedAreNotLetIn() async throws {
        try await withGateway(settings: { $0.corsOrigins = ["https://app.example"] }) { scene in
            let good = try await scene.get("/conversations", fields: "origin: https://app.example\r\n")
            #expect(good["access-control-allow-origin"] == ["https://app.example"])
            #expect(good["vary"] == ["origin"])
            let bad = try await scene.get("/conversations", fields: "origin: https://evil.example\r\n")
            #expect(bad["access-control-allow-origin"].isEmpty)
            #expect(bad["vary"] == ["origin"])
            let preflight = "origin: https://evil.example\r\naccess-control-request-method: GET\r\n"
            #expect(try await ask(scene, "OPTIONS /auth/me", preflight)["access-control-allow-methods"].isEmpty)
        }
    }

    @Test func statusTellsWhichServicesAreUp() async throws {
        try await withGateway(settings: { configuration in
            let down = try UpstreamService(
                name: "conversations",
                prefixes: ["/conversations"],
                urls: ["http://127.0.0.1:9"]
            )
            configuration.services = [configuration.services[0], down]
        }) { scene in
            let statuses = try await settled({ $0.first == "auth up" }) {
                let answer = try await ask(scene, "GET /status")
                #expect(answer.status == 200)
                let report = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
                let services = try #require(report?["services"] as? [[String: Any]])
                return services.map { "\($0["name"] ?? "") \($0["status"] ?? "")" }
            }
            #expect(statuses == ["auth up", "conversations down"])
            // However many ask, the services are asked once a second.
            func asked() -> Int { scene.service.requests.count { $0.target == "/ready" } }
            let (questions, before) = (50, asked())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<questions { group.addTask { _ = try await ask(scene, "GET /status") } }
                try await group.waitForAll()
            }
            #expect(asked() - before < questions / 2)
        }
    }

    @Test("The status shows restarts and the last exit of a service that knows them")
    func restarts() async throws {
        let fields =
            "x-roost-restarts: 4\r\nx-roost-last-exit: signal 11\r\nx-roost-last-exit-at: 2026-11-24T10:00:00.000Z\r\n"
        try await withGateway(script: { connection, _ in
            while try await connection.message() != nil {
                try await connection.send(ScriptedService.answer("", fields: fields))
            }
        }) { scene in
            let first = try await settled({ $0["status"] as? String == "up" }) {
                let answer = try await ask(scene, "GET /status")
                let report = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
                return try #require((report?["services"] as? [[String: Any]])?.first)
            }
            #expect(first["restarts"] as? Int == 4)
            let exit = first["lastExit"] as? [String: String]
            #expect(exit == ["reason": "signal 11", "at": "2026-11-24T10:00:00.000Z"])
            let instance = (first["perInstance"] as? [[String: Any]])?.first
            #expect(instance?["restarts"] as? Int == 4)
        }
    }

    @Test func theDocumentIsServedAndNotSentTwice() async throws {
        try await withGateway { scene in
            for page in ["/openapi.yaml", "/docs", "/docs/socket-events"] {
                let first = try await ask(scene, "GET \(page)")
                #expect(first.status == 200)
                let etag = try #require(first["etag"].first)
                let second = try await ask(scene, "GET \(page)", "if-none-match: \(etag)\r\n")
                #expect(second.status == 304)
                #expect(second.body.isEmpty)
                let head = try await ask(scene, "HEAD \(page)")
                #expect(head["content-length"] == ["\(first.body.count)"])
            }
            #expect(try await ask(scene, "GET /openapi.yaml").text == GatewayScene.document)
            #expect(try await ask(scene, "POST /docs", "content-length: 0\r\n").status == 405)
        }
    }

    @Test func theDocumentThatIsBuiltInIsTheOneInDocs() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = try String(contentsOf: root.appending(path: "docs/openapi.yaml"), encoding: .utf8)
        #expect(try OpenAPIDocument.embedded().text == file)
    }

    @Test("The page of socket events shows the tables of its document")
    func socketEvents() async throws {
        try await withGateway { scene in
            let page = try await ask(scene, "GET /docs/socket-events")
            #expect(page["content-type"] == ["text/html; charset=utf-8"])
            #expect(page["content-security-policy"].first?.hasPrefix("default-src 'none'") ?? false)
            #expect(page.text.contains("<h1 id=\"socket-io\">Socket.IO</h1>"))
            #expect(page.text.contains("<tr><td><code>message/updated</code></td>"))
            #expect(page.text.contains("<thead><tr><th>event</th><th>payload</th>"))
            #expect(page.text.contains("<a href=\"https://socket.io\">Socket.IO</a>"))
            #expect(!page.text.contains("| --- |"))
            #expect(try await ask(scene, "GET /docs").text.contains("<a href=\"/docs/socket-events\">"))
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

    @Test func healthAsksNobody() async throws {
        try await withGateway { scene async throws in
            #expect(try await ask(scene, "GET /health").text == #"{"status":"ok"}"#)
            #expect(scene.service.requests.isEmpty)
        }
    }
}
