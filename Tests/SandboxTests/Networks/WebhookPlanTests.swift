import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// The order and number of a network's webhook calls, which tests can change.
@Suite("Webhook plans", .timeLimit(.minutes(1))) struct WebhookPlanTests {
    private static func path(_ network: String) -> String { "/sandbox/networks/\(network)/webhooks" }

    @Test("A change keeps the other fields of the plan")
    func partialPlanChange() async throws {
        try await withSandbox { fixture in
            let first = try await fixture.control(Self.path("twitter"), #"{"times": 3, "held": true}"#).json()
            let second = try await fixture.control(Self.path("twitter"), #"{"reversed": true}"#).json()
            let other = try await fixture.send(.GET, fixture.sandbox.url + Self.path("facebook")).json()

            #expect(first["times"]?.whole == 3)
            #expect(first["held"] == .bool(true))
            #expect(first["reversed"] == .bool(false))
            #expect(second["times"]?.whole == 3)
            #expect(second["held"] == .bool(true))
            #expect(second["reversed"] == .bool(true))
            #expect(other["times"]?.whole == 1)
            #expect(other["held"] == .bool(false))
            #expect(other["waiting"]?.whole == 0)
            #expect(other["sent"]?.whole == 0)
            #expect(other["failed"]?.whole == 0)
        }
    }

    @Test(
        "An invalid number of calls is rejected, and the plan stays",
        arguments: [#"{"times": 0}"#, #"{"times": 11}"#, #"{"times": "many"}"#]
    )
    func invalidPlan(json: String) async throws {
        try await withSandbox { fixture in
            let refused = try await fixture.control(Self.path("facebook"), json)
            let standing = try await fixture.send(.GET, fixture.sandbox.url + Self.path("facebook")).json()

            #expect(refused.status == 400)
            #expect(try refused.json()["field"]?.text == "times")
            #expect(standing["times"]?.whole == 1)
        }
    }

    @Test("A network without webhooks has no plan")
    func networkWithoutWebhooks() async throws {
        try await withSandbox { fixture in
            let response = try await fixture.control(Self.path("mastodon"), #"{"times": 2}"#)

            #expect(response.status == 404)
        }
    }
}
