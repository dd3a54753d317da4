import Foundation
import HTTPTypes
import ServiceHost
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// After timeouts, crashes and retries no post is published twice.
@Suite("Posts with unknown outcome") struct UnknownOutcomeTests {
    private static let post = #"{"data": {"text": "once"}}"#

    @Test("A post whose response is lost is found on the network")
    func foundAfterTimeout() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            fixture.networks[.twitter].behavior.change { $0.publishing = .acceptsWithoutResponse }

            let result = try await fixture.ann.ask(.post, "/feed", Self.post).json["data"]["results"]["twitter"]

            #expect(result["code"].int == 200)
            #expect(result["id"].string == "twitter:of once")
            #expect(fixture.networks[.twitter].seen.value.count == 1)
        }
    }

    @Test("A post that is not found is not sent again")
    func notResent() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            fixture.networks[.twitter].behavior.change { $0.publishing = .losesWithoutResponse }

            let result = try await fixture.ann.ask(.post, "/feed", Self.post).json["data"]["results"]["twitter"]

            #expect(result["code"].int == 504)
            #expect(fixture.networks[.twitter].asked.value.filter { $0.hasPrefix("publish") }.count == 1)
            #expect(try await fixture.rows("SELECT state AS row FROM publications") == ["unknown"])
        }
    }

    /// The client repeats the request with its idempotency key after the service was killed.
    @Test(
        "A repeated request after a crash publishes the post once, in every state",
        arguments: [
            ("waiting", false), ("sent", true), ("sent", false), ("unknown", true), ("unknown", false), ("done", true),
        ]
    )
    func resumed(state: String, isThere: Bool) async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter, .facebook)
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.publishing = isThere ? .accepts : .losesWithoutResponse }
            let key: HTTPFields = [.idempotencyKey: "the same"]
            _ = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)
            // The rows are set to the state that a crash leaves.
            try await fixture.leave(state, sent: 36)
            _ = try await fixture.rows("DELETE FROM idempotency_keys RETURNING key AS row")
            network.behavior.change { $0.publishing = .accepts }

            let again = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)

            #expect(again.json["data"]["results"]["facebook"]["code"].int == 200)
            #expect(network.seen.value.count <= 1, "published twice")
            #expect(fixture.networks[.facebook].seen.value.count == 1)
            guard state != "done" else { return }
            #expect(again.json["data"]["results"]["twitter"]["code"].int == 200)
            #expect(network.seen.value.count == 1)
        }
    }

    @Test("A post that appears later is found by reconciliation")
    func reconciled() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.publishing = .losesWithoutResponse }
            _ = try await fixture.ann.ask(.post, "/feed", Self.post)
            // The network shows the post late.
            let key = try #require(network.lost.value.first)
            network.seen.change { $0.append(.init(key: key, text: "once", by: "ann")) }
            fixture.clock.advance(by: 31)

            try await eventually(within: .seconds(30), "found") {
                try await fixture.rows("SELECT result ->> 'id' AS row FROM publications WHERE state = 'done'")
                    == ["twitter:of once"]
            }
            #expect(network.asked.value.filter { $0.hasPrefix("publish") }.count == 1)
        }
    }

    @Test(
        "A repeated request waits for a post that the network may still show",
        arguments: [("sent", 409), ("unknown", 504)]
    )
    func inFlight(state: String, code: Int) async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.publishing = .losesWithoutResponse }
            let key: HTTPFields = [.idempotencyKey: "the same"]
            _ = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)
            try await fixture.leave(state, sent: 34)
            _ = try await fixture.rows("DELETE FROM idempotency_keys RETURNING key AS row")
            network.behavior.change { $0.publishing = .accepts }

            let again = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)

            #expect(again.json["data"]["results"]["twitter"]["code"].int == code, "\(again.text)")
            #expect(network.asked.value.filter { $0.hasPrefix("publish") }.count == 1)
            #expect(try await fixture.rows("SELECT state AS row FROM publications") == [state])
        }
    }

    @Test("A repeated request to a network with idempotency keys publishes the post once")
    func idempotentNetwork() async throws {
        try await withSocial { fixture in
            try await fixture.link(.mastodon)
            let network = fixture.networks[.mastodon]
            network.behavior.change { behavior in
                behavior.isIdempotent = true
                behavior.publishing = .acceptsWithoutResponse
            }
            let key: HTTPFields = [.idempotencyKey: "the same"]
            _ = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)
            _ = try await fixture.rows("UPDATE publications SET state = 'sent', result = NULL RETURNING network AS row")
            _ = try await fixture.rows("DELETE FROM idempotency_keys RETURNING key AS row")
            network.behavior.change { $0.publishing = .accepts }

            let again = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)

            #expect(again.json["data"]["results"]["mastodon"]["code"].int == 200)
            #expect(network.seen.value.count == 1)
        }
    }

    @Test(
        "A repeated reply after a crash is published once, in every state",
        arguments: [("waiting", false), ("sent", true), ("sent", false), ("unknown", true), ("done", true)]
    )
    func resumedReply(state: String, isThere: Bool) async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.publishing = isThere ? .accepts : .losesWithoutResponse }
            let (key, body) = (
                [.idempotencyKey: "the same"] as HTTPFields,
                #"{"data": {"network": "twitter", "thread": "1-2", "text": "once"}}"#
            )
            _ = try await fixture.ann.ask(.post, "/messages", body, headers: key)
            try await fixture.leave(state, sent: 36)
            _ = try await fixture.rows("DELETE FROM idempotency_keys RETURNING key AS row")
            network.behavior.change { $0.publishing = .accepts }

            let again = try await fixture.ann.ask(.post, "/messages", body, headers: key)

            #expect(again.json["data"]["results"]["twitter"]["code"].int == 200)
            #expect(network.seen.value.map(\.thread) == ["1-2"])
        }
    }

    @Test("A reply that appears later is found by reconciliation")
    func reconciledReply() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let network = fixture.networks[.twitter]
            network.behavior.change { $0.publishing = .losesWithoutResponse }
            let body = #"{"data": {"network": "twitter", "thread": "1-2", "text": "once"}}"#
            let lost = try await fixture.ann.ask(.post, "/messages", body)
            let key = try #require(network.lost.value.first)
            network.seen.change { $0.append(.init(key: key, text: "once", by: "ann")) }
            fixture.clock.advance(by: 31)

            #expect(lost.json["data"]["results"]["twitter"]["code"].int == 504)
            try await eventually(within: .seconds(30), "found") {
                try await fixture.rows("SELECT result ->> 'id' AS row FROM publications WHERE state = 'done'")
                    == ["twitter:of once"]
            }
            #expect(network.asked.value.filter { $0.hasPrefix("reply") }.count == 1)
        }
    }

    @Test("An idempotency key that is used for another post is rejected")
    func reusedKey() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            let key: HTTPFields = [.idempotencyKey: "the same"]
            _ = try await fixture.ann.ask(.post, "/feed", Self.post, headers: key)
            // The stored response is deleted, as a minute after a crash.
            _ = try await fixture.rows("DELETE FROM idempotency_keys RETURNING key AS row")

            let other = try await fixture.ann.ask(.post, "/feed", #"{"data": {"text": "other"}}"#, headers: key)

            #expect(other.status == 422, "\(other.text)")
            #expect(other.problem?.code == "idempotency_key_reused", "\(other.text)")
            #expect(fixture.networks[.twitter].seen.value.map(\.text) == ["once"])
        }
    }

    @Test("The same idempotency key of two users publishes two posts")
    func keyPerUser() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            try await fixture.bob.link(.twitter, "bob")
            let key: HTTPFields = [.idempotencyKey: "the same"]

            for person in [fixture.ann, fixture.bob, fixture.ann] {
                let answer = try await person.ask(.post, "/feed", Self.post, headers: key)
                #expect(answer.status == 200)
            }

            #expect(fixture.networks[.twitter].seen.value.map(\.by).sorted() == ["ann", "bob"])
        }
    }
}

extension SocialFixture {
    /// Sets the publication on Twitter to a state that it reached a number of seconds ago.
    fileprivate func leave(_ state: String, sent seconds: Int) async throws {
        _ = try await rows(
            """
            UPDATE publications SET state = '\(state)', sent_at = sent_at - interval '\(seconds) seconds'
            WHERE network = 'twitter' RETURNING network AS row
            """
        )
    }
}
