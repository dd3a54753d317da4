import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Linking with tokens") struct LinkingTests {
    @Test("A linked account is listed without its tokens")
    func list() async throws {
        try await withSocial { fixture in
            let linked = try await fixture.ann.ask(
                .put,
                "/networks/twitter",
                #"{"access_token": "ann's token", "access_token_secret": "own secret"}"#
            )
            let listed = try await fixture.ann.ask(.get, "/networks")

            #expect(linked.status == 200)
            #expect(linked.json["state"].string == "linked")
            let twitter = listed.json["networks"].array.first { $0["network"].string == "twitter" }
            #expect(twitter?["linked"].bool == true)
            #expect(twitter?["id"].string == "id of ann's token")
            #expect(twitter?["capabilities"]["reply"].bool == true)
            for text in [linked.text, listed.text] {
                #expect(!text.contains("secret"))
                #expect(!text.contains("access_token"))
            }
            #expect(listed.json["networks"].array.count == Network.allCases.count)
        }
    }

    @Test("Tokens are encrypted in the database")
    func encryptedAtRest() async throws {
        try await withSocial { fixture in
            let body =
                #"{"access_token": "tokenish", "access_token_secret": "secretish", "refresh_token": "refreshing"}"#
            _ = try await fixture.ann.ask(.put, "/networks/facebook", body)

            // The memory network makes the account id of the token, so only the columns with tokens are checked.
            let dump = try await fixture.rows("SELECT encode(tokens, 'escape') || details::text AS row FROM accounts")

            #expect(dump.count == 1)
            for word in ["tokenish", "secretish", "refreshing"] { #expect(!dump[0].contains(word)) }
        }
    }

    @Test("Encrypted tokens of another user cannot be used")
    func boundToOwner() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            try await fixture.bob.link(.twitter, "bob")
            _ = try await fixture.rows(
                """
                UPDATE accounts SET tokens = other.tokens FROM accounts AS other
                WHERE accounts.user_id = 'bob' AND other.user_id = 'ann' RETURNING accounts.user_id AS row
                """
            )

            try await fixture.bob.link(.facebook, "bob")
            fixture.networks[.facebook].fill("bob", times: [1])

            let page = try await fixture.bob.read("/feed")

            #expect(page.meta.networks[.twitter]?.code == 401)
            #expect(fixture.networks[.twitter].asked.value.filter { $0.hasPrefix("feed") }.isEmpty)
            // The other networks are still read.
            #expect(page.response.items.count == 1)
        }
    }

    @Test("Rejected tokens are not linked, and an unavailable network responds 503")
    func rejectedTokens() async throws {
        try await withSocial { fixture in
            fixture.networks[.reddit].behavior.change { $0.failure = { NetworkError(.auth, "no such token") } }
            let refused = try await fixture.ann.ask(.put, "/networks/reddit", #"{"access_token": "stale"}"#)
            fixture.networks[.reddit].behavior.change { $0.failure = { NetworkHTTPFailure.notSent("no connection") } }
            let away = try await fixture.ann.ask(.put, "/networks/reddit", #"{"access_token": "fine"}"#)

            #expect(refused.status == 422)
            #expect(refused.problem?.code == "rejected_by_network")
            #expect(away.status == 503)
            #expect(away.headers[.retryAfter] != nil)
            #expect(try await fixture.rows("SELECT network AS row FROM accounts").isEmpty)
        }
    }

    @Test(
        "An invalid request is rejected by field and links nothing",
        arguments: [
            ("twitter", "{}", 400, "access_token"), ("twitter", #"{"access_token": ""}"#, 400, "access_token"),
            ("twitter", #"{"access_token": 7}"#, 400, "access_token"),
            ("twitter", #"{"access_token": "a\nb"}"#, 400, "access_token"),
            ("mastodon", #"{"access_token": "a"}"#, 400, "instance"),
            ("mastodon", #"{"access_token": "a", "instance": "127.0.0.1"}"#, 400, "instance"),
            ("mastodon", #"{"access_token": "a", "instance": "http://mastodon.example"}"#, 400, "instance"),
            ("mastodon", #"{"access_token": "a", "instance": "https://user@mastodon.example"}"#, 400, "instance"),
            ("mastodon", #"{"access_token": "a", "instance": "https://[::ffff:10.0.0.1]"}"#, 400, "instance"),
            ("twitter", #"{"access_token": "a", "id": "another account"}"#, 422, "id"),
            // The memory network makes the account id of this token, which is then too long.
            ("twitter", #"{"access_token": "\#(String(repeating: "x", count: 8_000))"}"#, 422, nil),
            ("roost", #"{"access_token": "a"}"#, 422, nil), ("vine", #"{"access_token": "a"}"#, 422, nil),
            ("orkut", #"{"access_token": "a"}"#, 404, nil),
        ]
    )
    func invalidInput(network: String, body: String, status: Int, field: String?) async throws {
        try await withSocial { fixture in
            let answer = try await fixture.ann.ask(.put, "/networks/\(network)", body)

            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.problem?.field == field, "\(answer.text)")
            #expect(try await fixture.rows("SELECT network AS row FROM accounts").isEmpty)
        }
    }

    @Test("An id in the request may be any id or name of the account", arguments: ["id of ann", "ann", "ANN", "@ann"])
    func idForms(id: String) async throws {
        try await withSocial { fixture in
            let body = #"{"access_token": "ann", "id": "\#(id)"}"#

            let answer = try await fixture.ann.ask(.put, "/networks/twitter", body)

            #expect(answer.status == 200)
            #expect(answer.json["id"].string == "id of ann")
        }
    }

    @Test("Tokens in a request are not used if their id names another account")
    func foreignIDInMeta() async throws {
        try await withSocial { fixture in
            fixture.networks[.twitter].behavior.change { $0.acceptsProvidedID = false }
            let meta = #"{"meta": {"twitter": {"access_token": "ann", "id": "bob"}}}"#
            let own = meta.replacing("bob", with: "Ann")

            let refused = try await fixture.ann.ask(.post, "/feed", meta)
            let read = try await fixture.ann.ask(.post, "/feed", own)

            #expect(refused.json["meta"]["networks"]["twitter"]["code"].int == 422)
            #expect(read.json["meta"]["networks"]["twitter"]["code"].int == 200)
            #expect(fixture.networks[.twitter].asked.value.count { $0.hasPrefix("feed") } == 1)
        }
    }

    @Test("Unlinking revokes the tokens and is idempotent")
    func unlink() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.tumblr, "ann")
            try await fixture.bob.link(.tumblr, "bob")

            let gone = try await fixture.ann.ask(.delete, "/networks/tumblr")
            let again = try await fixture.ann.ask(.delete, "/networks/tumblr")

            #expect(gone.status == 200)
            #expect(gone.json["linked"].bool == false)
            #expect(again.status == 200)
            #expect(fixture.networks[.tumblr].asked.value.filter { $0.hasPrefix("revoke") } == ["revoke ann"])
            #expect(try await fixture.rows("SELECT user_id AS row FROM accounts") == ["bob"])
        }
    }

    @Test("Concurrent linking and unlinking leaves an account with its lists or nothing")
    func concurrentLinkAndUnlink() async throws {
        try await withSocial { fixture in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
                for index in 0..<40 {
                    tasks.addTask {
                        index % 2 == 0
                            ? try await fixture.ann.ask(.put, "/networks/twitter", #"{"access_token": "ann"}"#).status
                            : try await fixture.ann.ask(.delete, "/networks/twitter").status
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }

            #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
            let left = try await fixture.rows(
                """
                SELECT (SELECT count(*) FROM accounts) || ' ' || count(*) AS row FROM polled_lists
                """
            )
            #expect(left == ["0 0"] || left == ["1 3"])
        }
    }

    @Test("A webhook subscription ends when the last user unlinks the account")
    func subscription() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.facebook]
            func asked() -> [String] { network.asked.value.filter { $0.contains("subscribe") } }
            try await fixture.ann.link(.facebook, "ann")
            try await fixture.bob.link(.facebook, "ann")

            _ = try await fixture.ann.ask(.delete, "/networks/facebook")
            let whileBobHasIt = asked()
            _ = try await fixture.bob.ask(.delete, "/networks/facebook")

            #expect(whileBobHasIt == ["subscribe ann", "subscribe ann"])
            #expect(asked().last == "unsubscribe ann")
            #expect(asked().count == 3)
        }
    }

    @Test("An account is linked even if its webhook subscription fails")
    func failedSubscription() async throws {
        try await withSocial { fixture in
            fixture.networks[.facebook].behavior.change { $0.acceptsSubscriptions = false }

            let linked = try await fixture.ann.ask(.put, "/networks/facebook", #"{"access_token": "ann"}"#)

            #expect(linked.status == 200)
            #expect(linked.json["state"].string == "linked")
            #expect(fixture.networks[.facebook].asked.value.contains("subscribe ann"))
        }
    }

    @Test("A linked account is not listed in another application")
    func otherApplication() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            let other = try await fixture.person("ann", application: "roost")

            let listed = try await other.ask(.get, "/networks")

            #expect(listed.json["networks"].array.allSatisfy { $0["linked"].bool == ($0["network"].string == "roost") })
        }
    }
}

extension TestUser {
    /// Links an account by its token.
    func link(_ network: Network, _ token: String, _ fields: String = "") async throws {
        let answer = try await ask(.put, "/networks/\(network)", #"{"access_token": "\#(token)"\#(fields)}"#)
        guard answer.status == 200 else { throw TestSupportError("\(answer.status): \(answer.text)") }
    }
}
