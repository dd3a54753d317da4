import TestSupport
import Testing
import Wire

@testable import GatewayServer

@Suite("Rate limits") struct RateLimitTests {
    @Test("A user has a burst and a rate, and another user is not affected")
    func limitPerUser() async throws {
        try await withGateway(settings: { $0.userRate = 1 }) { fixture in
            let began = ContinuousClock.now
            let statuses = try await fixture.load(60)
            // A burst of ten, and then one request a second.
            let most = 11 + Int((ContinuousClock.now - began) / .seconds(1))
            let admitted = statuses[200] ?? 0
            #expect((10...most).contains(admitted))
            #expect(statuses[429] == 60 - admitted)
            #expect(fixture.service.requests.count == admitted)
            let bo = try await fixture.keys.token(for: User.ID(application: "roost", user: "bo"))
            let fields = "authorization: Bearer \(bo)\r\n"
            #expect(try await fixture.perform("GET /conversations HTTP/1.1\r\nhost: a\r\n\(fields)\r\n").status == 200)
        }
    }

    @Test("Responses show the limit that applies and its remainder")
    func rateLimitFields() async throws {
        try await withGateway(settings: { configuration in
            configuration.userRate = 100
            configuration.addressRate = 500
        }) { fixture in
            let mine = try await fixture.get("/conversations")
            #expect(mine["ratelimit-policy"] == [#""user";q=1000;w=10"#])
            #expect(mine["ratelimit"] == [#""user";r=999;t=1"#])
            let open = try await fixture.perform("POST /auth/login HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
            #expect(open["ratelimit-policy"] == [#""address";q=5000;w=10"#])
            #expect(try await fixture.get("/nowhere")["ratelimit"].count == 1)
        }
    }

    @Test("A request over the limit is a 429 with Retry-After, and the connection stays open")
    func retryAfter() async throws {
        try await withGateway(settings: { $0.userRate = 1 }) { fixture in
            try await fixture.connect { connection in
                // Far more than the burst, so the last ones are over the limit on any machine.
                try await connection.send(String(repeating: fixture.signed("GET /conversations"), count: 200))
                var responses: [RawMessage] = []
                for _ in 0..<200 { responses.append(try #require(try await connection.message())) }
                let response = try #require(responses.first { $0.status != 200 })
                #expect(response.status == 429)
                #expect(response.code == "rate_limited")
                #expect(response["content-type"] == ["application/problem+json"])
                #expect(response["retry-after"] == ["1"])
                #expect(response["ratelimit-policy"] == [#""user";q=10;w=10"#])
                #expect(response["ratelimit"] == [#""user";r=0;t=10"#])
                // The connection stays usable.
                #expect(response["connection"].isEmpty)
                try await connection.send("GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
                #expect(try await connection.message()?.status == 200)
            }
        }
    }

    @Test("The address limit applies before a credential is verified")
    func badCredentialFlood() async throws {
        // Without keys, a credential that is verified is a 503.
        try await withGateway(isLoaded: false, settings: { $0.addressRate = 1 }) { fixture in
            let began = ContinuousClock.now
            let statuses = try await fixture.load(60)
            let most = 11 + Int((ContinuousClock.now - began) / .seconds(1))
            #expect((10...most).contains(statuses[503] ?? 0))
            #expect(statuses[429] == 60 - (statuses[503] ?? 0))
        }
    }

    @Test("Registrations have a limit per address and minute")
    func registrationLimit() async throws {
        let document =
            GatewayFixture.document + "\n  /auth/anonymous: {post: {security: []}}\n"
            + "  /auth/register: {post: {security: []}}\n"
        try await withGateway(document: document, settings: { $0.registerRate = 4 }) { fixture in
            func post(_ path: String) async throws -> RawMessage {
                try await fixture.perform("POST \(path) HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
            }
            for path in ["/auth/register", "/auth/anonymous", "/auth/register", "/auth/anonymous"] {
                #expect(try await post(path).status == 200)
            }
            let refused = try await post("/auth/anonymous")
            #expect(refused.status == 429)
            let seconds = try #require(refused["retry-after"].first.flatMap { Int($0) })
            #expect((1...15).contains(seconds))
            #expect(refused["ratelimit-policy"] == [#""register";q=4;w=60"#])
            #expect(try await post("/auth/register").status == 429)
            #expect(try await post("/auth/login").status == 200)
            #expect(fixture.service.requests.count == 5)
        }
    }

    @Test("A rate of 0 is no limit")
    func noLimit() async throws {
        try await withGateway(settings: { configuration in
            (configuration.userRate, configuration.addressRate, configuration.registerRate) = (0, 0, 0)
        }) { fixture in
            let response = try await fixture.get("/conversations")
            #expect(response["ratelimit"].isEmpty)
            #expect(response["ratelimit-policy"].isEmpty)
        }
    }

    @Test("Event loops share the limit of a user")
    func sharedLimit() async throws {
        try await withGateway(settings: { configuration in
            configuration.userRate = 2
            configuration.eventLoops = 2
        }) { fixture in
            let began = ContinuousClock.now
            let statuses = try await fixture.load(100)
            let most = 22 + Int((ContinuousClock.now - began) / .milliseconds(500))
            #expect((20...most).contains(statuses[200] ?? 0))
        }
    }
}
