import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// How a test says in which order, and how often, a network calls.
@Suite(.timeLimit(.minutes(1))) struct WebhookPlanTests {
    private static func path(_ network: String) -> String { "/sandbox/networks/\(network)/webhooks" }

    @Test func aPlanIsOneNetworksAndKeepsWhatItDoesNotName() async throws {
        try await withSandbox { scene in
            let first = try await scene.tell(Self.path("twitter"), #"{"times": 3, "held": true}"#).json()
            let second = try await scene.tell(Self.path("twitter"), #"{"reversed": true}"#).json()
            let other = try await scene.ask(.GET, scene.sandbox.url + Self.path("facebook")).json()

            #expect(first["times"]?.whole == 3 && first["held"] == .bool(true) && first["reversed"] == .bool(false))
            #expect(second["times"]?.whole == 3 && second["held"] == .bool(true) && second["reversed"] == .bool(true))
            #expect(other["times"]?.whole == 1 && other["held"] == .bool(false))
            #expect(other["waiting"]?.whole == 0 && other["sent"]?.whole == 0 && other["failed"]?.whole == 0)
        }
    }

    @Test(arguments: [#"{"times": 0}"#, #"{"times": 11}"#, #"{"times": "many"}"#])
    func nobodyCallsThatOften(json: String) async throws {
        try await withSandbox { scene in
            let refused = try await scene.tell(Self.path("facebook"), json)
            let standing = try await scene.ask(.GET, scene.sandbox.url + Self.path("facebook")).json()

            #expect(refused.status == 400)
            #expect(try refused.json()["field"]?.text == "times")
            #expect(standing["times"]?.whole == 1)
        }
    }

    @Test func aNetworkThatCallsNobodyHasNoPlan() async throws {
        try await withSandbox { scene in
            let nowhere = try await scene.tell(Self.path("mastodon"), #"{"times": 2}"#)

            #expect(nowhere.status == 404)
        }
    }
}
