import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Feeds of several networks") struct FeedTests {
    @Test("The feeds of two networks are merged by time and paged")
    func mergedOrder() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.facebook, "ann")
            try await fixture.ann.link(.twitter, "ann")
            fixture.networks[.facebook].fill("ann", times: [9, 5, 1])
            fixture.networks[.twitter].fill("ann", times: [8, 6, 2])

            let answer = try await fixture.ann.ask(.get, "/feed?limit=4")
            let page = try answer.decode(SocialResponse.self)
            let rest = try await fixture.ann.ask(.get, "/scroll/feed?limit=4&cursor=\(page.meta.next ?? "")")

            #expect(answer.json["meta"]["code"].int == 200)
            #expect(answer.json["meta"]["networks"]["facebook"]["code"].int == 200)
            let ids = page.response.items.map(\.id.description)
            #expect(ids == ["facebook:ann-0", "twitter:ann-0", "twitter:ann-1", "facebook:ann-1"])
            let last = try rest.decode(SocialResponse.self)
            #expect(last.response.items.map(\.id.description) == ["twitter:ann-2", "facebook:ann-2"])
            #expect(last.meta.next == nil)
        }
    }

    @Test("Tokens in a request are used instead of linked accounts and are not stored")
    func requestTokens() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.facebook, "kept")
            fixture.networks[.facebook].fill("kept", times: [1])
            fixture.networks[.facebook].fill("given", times: [2, 1])
            let body = #"{"meta": {"facebook": {"access_token": "given", "id": ""}, "twitter": {"access_token": ""}}}"#

            let given = try await fixture.ann.ask(.post, "/feed", body).decode(SocialResponse.self)
            let byGet = try await fixture.ann.ask(.get, "/feed", body).decode(SocialResponse.self)
            let kept = try await fixture.ann.read("/feed")

            #expect(given.response.items.count == 2)
            #expect(byGet == given)
            #expect(kept.response.items.count == 1)
            #expect(given.meta.networks.keys.sorted { $0.rawValue < $1.rawValue } == [.facebook])
            // The account of the tokens was requested once, and nothing was stored.
            #expect(fixture.networks[.facebook].asked.value.filter { $0 == "identify given" }.count == 1)
            #expect(try await fixture.rows("SELECT username AS row FROM accounts") == ["kept"])
        }
    }

    @Test("A hanging or limited network does not delay the others, and its items follow later")
    func hangingNetwork() async throws {
        // The deadline suffices for the other networks even on a busy machine.
        try await withSocial(settings: ["SOCIAL_DEADLINE_MS": "5000"]) { fixture in
            for network in [Network.facebook, .twitter, .reddit] { try await fixture.ann.link(network, "ann") }
            fixture.networks[.facebook].fill("ann", times: [3])
            fixture.networks[.twitter].behavior.change { $0.gate = { try await Task.sleep(for: .seconds(3_600)) } }
            let until = fixture.clock.read().addingTimeInterval(90)
            fixture.networks[.reddit].behavior.change {
                $0.failure = { NetworkError(.rateLimited(until: until), "slow down") }
            }

            let page = try await fixture.ann.read("/feed")

            #expect(page.response.items.map(\.network) == [.facebook])
            #expect(page.meta.networks[.facebook] == .ok)
            #expect(page.meta.networks[.twitter]?.code == 504)
            #expect(page.meta.networks[.reddit] == NetworkReport(code: 429, reason: "slow down", retryAt: until))
            // The two failed networks may still have items, so there is a next page.
            let next = try #require(page.meta.next)
            fixture.networks[.twitter].behavior.change { $0.gate = nil }
            fixture.networks[.reddit].behavior.change { $0.failure = nil }
            fixture.networks[.twitter].fill("ann", times: [9, 8])
            fixture.clock.advance(by: 120)
            let recovered = try await fixture.ann.read("/scroll/feed", cursor: next)
            #expect(recovered.response.items.map(\.id.description) == ["twitter:ann-0", "twitter:ann-1"])
        }
    }

    @Test("Copies of one post are merged into its first occurrence")
    func duplicates() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.mastodon, "ann", #", "instance": "mastodon.example""#)
            try await fixture.ann.link(.twitter, "ann")
            let (mastodon, twitter) = (fixture.networks[.mastodon], fixture.networks[.twitter])
            mastodon.lists.change { lists in
                lists["ann"] = [
                    mastodon.item("boost", at: 9, original: "https://other.example/1"),
                    mastodon.item("boosted again", at: 8, original: "https://other.example/1"),
                    mastodon.item("another", at: 7),
                    mastodon.item("original", at: 1, original: "https://other.example/1"),
                ]
            }
            twitter.fill("ann", times: [6, 5, 4, 3, 2])

            let first = try await fixture.ann.read("/feed", limit: 4)
            let second = try await fixture.ann.read("/scroll/feed", cursor: first.meta.next, limit: 10)

            #expect(first.response.items.map(\.id.native) == ["boost", "another", "ann-0", "ann-1"])
            #expect(first.response.items[0].copies?.map(\.id.native) == ["boosted again"])
            #expect(second.response.items.map(\.id.native) == ["ann-2", "ann-3", "ann-4"])
        }
    }

    @Test("Threads and messages are sorted oldest first, and older pages follow")
    func messageOrder() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            let network = fixture.networks[.twitter]
            network.fill("ann/threads", times: [5, 1])
            network.fill("ann/threads/t1", times: [5, 4, 3, 2, 1])

            let threads = try await fixture.ann.ask(.get, "/messages").decode(SocialResponse.self)
            let latest = try await fixture.ann.ask(.get, "/scroll/messages?network=twitter&thread=t1&limit=2")
                .decode(SocialResponse.self)
            let cursor = try #require(latest.meta.next)
            let path = "/scroll/messages?network=twitter&thread=t1&limit=9&cursor=\(cursor)"
            let before = try await fixture.ann.ask(.get, path).decode(SocialResponse.self)
            let elsewhere = try await fixture.ann.ask(
                .get,
                "/scroll/messages?network=twitter&thread=t2&cursor=\(cursor)"
            )

            #expect(threads.response.items.map(\.id.native) == ["ann/threads-1", "ann/threads-0"])
            #expect(latest.response.items.map(\.id.native) == ["ann/threads/t1-1", "ann/threads/t1-0"])
            let older = ["ann/threads/t1-4", "ann/threads/t1-3", "ann/threads/t1-2"]
            #expect(before.response.items.map(\.id.native) == older)
            #expect(before.meta.next == nil)
            #expect(elsewhere.status == 400)
            #expect(elsewhere.problem?.field == "cursor")
        }
    }

    @Test("A cursor is valid only for its user and list")
    func cursorOwner() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            fixture.networks[.twitter].fill("ann", times: [3, 2, 1])
            let cursor = try #require(try await fixture.ann.read("/feed", limit: 1).meta.next)
            let forged = String(cursor.dropLast()) + (cursor.hasSuffix("A") ? "B" : "A")

            for (person, path, cursor) in [
                (fixture.ann, "/scroll/feed", forged), (fixture.bob, "/scroll/feed", cursor),
                (fixture.ann, "/scroll/notifications", cursor), (fixture.ann, "/scroll/feed", "x"),
            ] {
                let answer = try await person.ask(.get, "\(path)?cursor=\(cursor)")
                #expect(answer.status == 400, "\(answer.text)")
                #expect(answer.problem?.field == "cursor", "\(answer.text)")
            }
            #expect(try await fixture.ann.ask(.get, "/scroll/feed?cursor=\(cursor)").status == 200)
        }
    }

    @Test(
        "An invalid request is rejected by field",
        arguments: [
            ("/feed?limit=0", "", "limit"), ("/feed?limit=101", "", "limit"), ("/feed", #"{"limit": 0}"#, "limit"),
            ("/feed", #"{"meta": {"twitter": {}}}"#, "meta.twitter.access_token"),
            ("/feed", #"{"meta": {"twitter": {"access_token": 7}}}"#, "meta.twitter.access_token"),
            ("/feed", #"{"meta": {"mastodon": {"access_token": "a"}}}"#, "meta.mastodon.instance"),
            ("/feed", #"{"meta": 7}"#, "meta"), ("/feed?raw=maybe", "", "raw"),
            ("/scroll/messages?thread=t1", "", "network"), ("/scroll/messages?thread=t1&network=orkut", "", "network"),
        ]
    )
    func invalidRequest(path: String, body: String, field: String) async throws {
        try await withSocial { fixture in
            let answer = try await fixture.ann.ask(.post, path, body)

            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.problem?.field == field, "\(answer.text)")
        }
    }

    @Test("A thread of a network that is not linked responds 404")
    func notLinked() async throws {
        try await withSocial { fixture in
            let answer = try await fixture.ann.ask(.get, "/scroll/messages?network=twitter&thread=t1")

            #expect(answer.status == 404)
            #expect(answer.problem?.code == "not_linked")
        }
    }

    @Test("Eight concurrent users of one network receive only their own items")
    func cacheIsolation() async throws {
        try await withSocial { fixture in
            // All users read the same pages of one network at the same time. Only the tokens differ.
            let people = try await withThrowingTaskGroup(of: TestUser.self) { tasks in
                for index in 0..<8 {
                    tasks.addTask {
                        let person = try await fixture.person("person \(index)")
                        fixture.networks[.twitter].fill("token \(index)", times: (0..<60).map { -$0 })
                        try await person.link(.twitter, "token \(index)")
                        return person
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for person in people {
                    tasks.addTask {
                        let own = "token \(person.id.user.dropFirst(7))-"
                        var (cursor, count) = (String?.none, 0)
                        repeat {
                            let page = try await person.read("/scroll/feed", cursor: cursor, limit: 7)
                            #expect(page.response.items.allSatisfy { $0.id.native.hasPrefix(own) })
                            count += page.response.items.count
                            cursor = page.meta.next
                        } while cursor != nil
                        #expect(count == 60)
                    }
                }
                try await tasks.waitForAll()
            }
        }
    }
}
