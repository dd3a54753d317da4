import PushAPI
import SandboxServer
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Tokens that a network rejects", .timeLimit(.minutes(2))) struct RefusedTokenTests {
    private static let states = "SELECT state AS row FROM accounts"

    /// Bluesky, Reddit and API 2 of Twitter renew the tokens and then reject the new ones.
    @Test("The user is notified once to link the account again", arguments: NetworkVariant.all)
    func reauthenticate(variant: NetworkVariant) async throws {
        try await withSandboxService(variant) { fixture in
            try await fixture.link()
            try fixture.sandbox.script.add(ScriptRule(service: variant.service, token: "ana", behaviour: .expire))

            let first = try await fixture.ann.read("/feed")
            let second = try await fixture.ann.read("/feed")
            try await fixture.push.waitForNotifications(1)

            #expect(first.meta.networks[fixture.network]?.code == 401)
            #expect(second.meta.networks[fixture.network]?.code == 401)
            #expect(try await fixture.rows(Self.states) == ["reauthenticate"])
            #expect(try await fixture.rows("SELECT kind AS row FROM changes") == ["reauthenticate"])
            #expect(fixture.push.taken.map { $0.data?["event"].string } == ["reauthenticate"])
        }
    }

    @Test(
        "Expired tokens are renewed, and the request succeeds",
        arguments: [NetworkVariant.bluesky, .reddit, .twitter2]
    )
    func renewal(variant: NetworkVariant) async throws {
        try await withSandboxService(variant) { fixture in
            try await fixture.link()
            let rule = ScriptRule(service: variant.service, token: "ana", behaviour: .expire, times: 1)
            try fixture.sandbox.script.add(rule)

            let feed = try await fixture.ann.read("/feed")

            #expect(feed.meta.networks[fixture.network] == .ok)
            #expect(try await fixture.rows(Self.states) == ["linked"])
        }
    }
}
