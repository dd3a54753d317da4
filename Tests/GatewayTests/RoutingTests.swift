import Testing

@testable import GatewayServer

@Suite("Routing") struct RoutingTests {
    /// Spellings of internal and other unrouted paths, all requested with a valid credential.
    private static let inner = [
        "/internal", "/internal/", "/internal/revocations", "/INTERNAL/revocations", "/Internal/revocations",
        "/%69nternal/revocations", "/%69%6e%74%65%72%6e%61%6c/revocations", "//internal/revocations",
        "/./internal/revocations", "/auth/../internal/revocations", "/auth/%2e%2e/internal/revocations",
        "/auth/.%2e/internal/revocations", "/auth/%2E%2E/internal/revocations", "/auth/..;/internal/revocations",
        "/auth/..;x=1/internal/revocations", "/auth/.%2e;/internal/revocations", "/auth/%2e%2e%3b/internal/revocations",
        "/;/internal/revocations", "/internal;x=1/revocations", "/internal./revocations", "/internal../revocations",
        "/internal%2frevocations", "/internal%2Frevocations", "/%2finternal/revocations", "/internal%00/revocations",
        "/internal%20/revocations", "/internal%09/revocations", "/internal\\revocations", "/auth/..\\internal",
        "/auth/%5c..%5cinternal", "/auth/..%2finternal/revocations", "/auth/%252e%252e/internal/revocations",
        "/auth/internal/revocations", "/conversations/../internal/x", "/internal?/auth/me", "/metrics", "/auth//me",
        "/auth/./me", "/auth/me/", "/AUTH/me", "/auth/me%", "/auth/me%2", "/auth/me%zz", "/1/../internal/x",
        "/.well-known/../internal/x", "/%ef%bc%8finternal/x", "/%c0%afinternal", "/",
    ]

    @Test("No spelling of an internal path reaches a service")
    func internalRoutes() async throws {
        try await withGateway { fixture in
            for path in Self.inner {
                let response = try await fixture.get(path)
                #expect([400, 404].contains(response.status), "\(path): \(response.startLine)")
                #expect(response.code != nil)
            }
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("An escaped slash in a path is forwarded unchanged")
    func escapedSlash() async throws {
        try await withGateway { fixture in
            let path = "/conversations/a%2Fb/members/..%2Fx%3F%23%C3%A9"
            let response = try await fixture.perform(fixture.signed("PUT \(path)", fields: "content-length: 0\r\n"))
            #expect(fixture.forwarded(response).target == path)
        }
    }

    @Test("A literal segment takes precedence over a parameter")
    func literalBeforeParameter() async throws {
        try await withGateway { fixture async throws in
            #expect(try await fixture.get("/conversations/create").status == 405)
            #expect(try await fixture.get("/conversations/created").status == 200)
        }
    }

    @Test("The longest prefix decides which service a path belongs to")
    func longestPrefix() async throws {
        try await withGateway { fixture async throws in
            #expect(try await fixture.get("/media/conversations/k").status == 200)
            // Described, but no service has the prefix.
            #expect(try await fixture.get("/unserved").status == 404)
        }
    }

    @Test(
        "A missing route or method is reported before a missing credential",
        arguments: [
            ("GET /nowhere", 404, "not_found"),
            ("POST /nowhere", 404, "not_found"),
            ("GET /auth", 404, "not_found"),
            ("GET /auth/login", 405, "method_not_allowed"),
            ("POST /auth/me", 405, "method_not_allowed"),
            ("TRACE /auth/me", 405, "method_not_allowed"),
            ("PROPFIND /auth/me", 405, "method_not_allowed"),
            ("TRACE /nowhere", 404, "not_found"),
            ("GET /auth/me", 403, "authentication_required"),
            ("DELETE /conversations/x", 403, "authentication_required"),
        ]
    )
    func notFoundBeforeCredential(line: String, status: Int, code: String) async throws {
        try await withGateway { fixture in
            let response = try await fixture.perform("\(line) HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
            #expect(response.status == status)
            #expect(response.code == code)
            if status == 405 { #expect(response["allow"].first?.contains("OPTIONS") ?? false) }
            #expect(fixture.service.requests.isEmpty)
        }
    }

    @Test("An error leaves the connection usable")
    func errorKeepsConnection() async throws {
        try await withGateway { fixture in
            try await fixture.connect { connection in
                try await connection.send(
                    "POST /auth/me HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"
                        + fixture.signed("GET /auth/me")
                )
                #expect(try await connection.message()?.status == 405)
                #expect(try await connection.message()?.status == 200)
            }
        }
    }

    @Test("Every route of the OpenAPI document has a service, and these need no credential")
    func embeddedRoutes() throws {
        let document = try OpenAPIDocument.embedded()
        let services = try UpstreamService.suite.map { name, prefixes, url in
            try UpstreamService(name: name, prefixes: prefixes, urls: [url])
        }
        let table = RouteTable(document: document, services: services)
        #expect(table.routes.allSatisfy { $0.owner != .unassigned })
        let push = try #require(services.firstIndex { $0.name == "push" })
        let pushed = Set(
            table.routes.filter { $0.owner == .service(push) }.map { $0.template.split(separator: "/")[0] }
        )
        #expect(pushed.isSuperset(of: ["devices", "notification-settings", "push", "subscriptions", "topics"]))
        let open = table.routes.filter { !$0.open.isEmpty }.map(\.template)
        // The routes without security in docs/openapi.yaml.
        let expected = [
            "/auth/register", "/auth/anonymous", "/auth/login", "/auth/login/mfa", "/auth/login/passkey",
            "/auth/login/passkey/options", "/auth/refresh", "/auth/password/forgot", "/auth/password/reset",
            "/auth/email/resend", "/auth/email/verify", "/auth/identities/{provider}",
            "/auth/identities/{provider}/authorizations",
            "/auth/identities/{provider}/callback", "/oauth/revoke", "/1/auth/nonce", "/1/auth/login", "/health",
            "/ready", "/status", "/openapi.yaml", "/docs", "/docs/socket-events",
            "/media/conversations/{key}", "/socket.io/", "/push/vapid-key", "/media/{key}",
            "/networks/{network}/callback",
            "/networks/{network}/client-metadata.json", "/webhooks/{network}",
            // Instagram fetches the files of posts; the token is signed.
            "/feed/media/{token}",
            // The tus routes are open for OPTIONS.
            "/photos/uploads/tus", "/photos/uploads/tus/{id}",
        ]
        #expect(Set(open.filter { !$0.hasPrefix("/.well-known/") }) == Set(expected))
    }
}
