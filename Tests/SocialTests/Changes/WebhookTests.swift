import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Webhooks") struct WebhookTests {
    private static let path = "/webhooks/facebook"

    @Test("A handshake needs the verification token")
    func handshake() async throws {
        try await withSocial { fixture in
            let query = "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="

            let valid = try await fixture.service.send(.get, Self.path + query + "ours")
            let invalid = try await fixture.service.send(.get, Self.path + query + "other")
            let unsupported = try await fixture.service.send(.get, "/webhooks/roost" + query + "ours")

            #expect(valid.status == 200)
            #expect(valid.text == "1158201444")
            #expect(invalid.status == 403)
            #expect(unsupported.status == 404)
        }
    }

    @Test("An event is recorded for every user who linked the account, in any application")
    func recipients() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            try await fixture.bob.link(.facebook, "bob")
            let third = try await fixture.person("third", application: "roost")
            try await third.link(.facebook, "ann")

            let answer = try await fixture.service.call(
                Self.path,
                "id of ann created one 7\nid of unknown created two 8"
            )

            #expect(answer.status == 200, "\(answer.text)")
            let recorded = try await fixture.rows("SELECT user_id || ' ' || item_id AS row FROM changes ORDER BY 1")
            #expect(recorded == ["ann facebook:one", "third facebook:one"])
        }
    }

    @Test("A forged, old or malformed delivery is rejected")
    func rejected() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            let body = "id of ann created one 7"

            let forged = try await fixture.service.call(Self.path, body, ["x-signature": "bad"])
            let stale = try await fixture.service.call(Self.path, body, ["x-age": "1000000"])
            let nonsense = try await fixture.service.call(Self.path, "what?")

            #expect(forged.status == 403)
            #expect(forged.problem?.code == "invalid_webhook_signature")
            #expect(stale.status == 403)
            #expect(stale.problem?.code == "expired_webhook")
            #expect(nonsense.status == 400)
            #expect(try await fixture.rows("SELECT item_id AS row FROM changes").isEmpty)
        }
    }

    @Test("A repeated event or delivery is recorded once")
    func repeated() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            for body in ["created one", "deleted one", "created one"] {
                let answer = try await fixture.service.call(Self.path, "id of ann \(body) 7")
                #expect(answer.status == 200)
            }
            let named = try await fixture.service.call(Self.path, "id of ann created two 8", ["x-id": "7"])
            let again = try await fixture.service.call(Self.path, "id of ann created three 9", ["x-id": "7"])

            #expect(named.status == 200)
            #expect(again.status == 200)
            let recorded = try await fixture.rows("SELECT kind || ' ' || item_id AS row FROM changes ORDER BY number")
            #expect(recorded == ["created facebook:one", "deleted facebook:one", "created facebook:two"])
        }
    }

    @Test("A ping triggers a poll")
    func ping() async throws {
        try await withSocial(settings: ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(1_000_000)]) { fixture in
            let network = fixture.networks[.facebook]
            try await fixture.link(.facebook)
            try await fixture.polled(at: network, "feed ann")
            let before = network.asked.value.count { $0 == "feed ann" }
            network.fill("ann", times: [5])

            _ = try await fixture.service.call(Self.path, "id of ann ping none 0")

            try await eventually { network.asked.value.count { $0 == "feed ann" } > before }
            try await eventually {
                try await fixture.rows("SELECT item_id AS row FROM changes") == ["facebook:ann-0"]
            }
        }
    }
}
