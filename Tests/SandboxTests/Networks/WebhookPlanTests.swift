import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// How a test says in which order, and how often, a network calls.
@Suite(.timeLimit(.minutes(1))) struct WebhookPlanTests {
    private static func path(_ network: String) -> String { "/sandbox/networks/\(network)/webhooks" }

    @Test func partialPlanChange() async throws {
        try await withSandbox { fixture in
            let first = try await fixture.control(Self.path("twitter"), #"{"times": 3, "held": true}"#).json()
            let second = try await fixture.control(Self.path("twitter"), #"{"reversed": true}"#).json()
            let other = try await fixture.send(.GET, fixture.sandbox.url + Self.path("facebook")).json()

            #expect(first["times"]?.whole == 3 && first["held"] == .bool(true) && first["reversed"] == .bool(false))
            #expect(second["times"]?.whole == 3 && second["held"] == .bool(true) && second["reversed"] == .bool(true))
            #expect(other["times"]?.whole == 1 && other["held"] == .bool(false))
            #expect(other["waiting"]?.whole == 0 && other["sent"]?.whole == 0 && other["failed"]?.whole == 0)
        }
    }

    @Test(arguments: [#"{"times": 0}"#, #"{"times": 11}"#, #"{"times": "many"}"#])
    func rejectsInvalidPlan(json: String) async throws {
        try await withSandbox { fixture in
            let refused = try await fixture.control(Self.path("facebook"), json)
            let standing = try await fixture.send(.GET, fixture.sandbox.url + Self.path("facebook")).json()

            #expect(refused.status == 400)
            #expect(try refused.json()["field"]?.text == "times")
            #expect(standing["times"]?.whole == 1)
        }
    }

    @Test func networkWithoutWebhooks() async throws {
        try await withSandbox { fixture in
            let nowhere = try await fixture.control(Self.path("mastodon"), #"{"times": 2}"#)

            #expect(nowhere.status == 404)
        }
    }
}
