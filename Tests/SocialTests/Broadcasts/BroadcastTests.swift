import Foundation
import HTTPTypes
import Postgres
import PushAPI
import SandboxServer
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Live broadcasts", .timeLimit(.minutes(2))) struct BroadcastTests {
    @Test("The list has the user's favourites first, then the others by viewers")
    func order() async throws {
        try await withBroadcasts { fixture in
            fixture.push.setFavourites(["gardener", "painter"])
            try await fixture.waitUntilListed { $0.count == 3 }

            let answer = try await fixture.broadcasts()

            let list = answer.json["broadcasts"].array
            #expect(list.map { $0["broadcaster"].string } == ["painter", "gardener", "pianist"])
            #expect(list.map { $0["favourite"].bool } == [true, true, false])
            #expect(list.map { $0["watchers"].int } == [56, 55, 57])
            #expect(list[2]["community"].string == "RedditSessions")
            #expect(list[2]["state"].string == "IS_LIVE")
            #expect(list[2]["commentCount"].int == 32 || list[2]["commentCount"].int == 31)
            #expect(list[2]["startedAt"].string?.hasSuffix("Z") == true)
            // The favourites are requested with the user's credential.
            #expect(fixture.push.credentials == ["Bearer \(fixture.ann.token)"])
        }
    }

    @Test("While push is unavailable, the list has no favourites and is sorted by viewers")
    func withoutPush() async throws {
        try await withBroadcasts { fixture in
            try await fixture.waitUntilListed { $0.count == 3 }
            fixture.push.goOffline()

            let list = try await fixture.broadcasts().json["broadcasts"].array

            #expect(list.map { $0["broadcaster"].string } == ["pianist", "painter", "gardener"])
            #expect(list.allSatisfy { $0["favourite"] == .null })
        }
    }

    @Test("A new broadcast is published once, by several instances and after a restart")
    func notifiedOnce() async throws {
        try await withBroadcasts { fixture in
            try await eventually { fixture.push.events.count == 1 }
            try await fixture.another { _ in
                let stream = fixture.live.begin("cellist", in: "RedditSets", title: "Suites")
                try await fixture.nextRound()
                try await eventually { fixture.push.events.count == 2 }
                for _ in 0..<3 { try await fixture.nextRound() }

                let live = try #require(fixture.push.events.last)
                #expect(live.streamId == stream.id)
                #expect(live.broadcaster == "cellist")
                #expect(live.title == "Suites")
                #expect(live.community == "RedditSets")
                #expect(live.url.hasPrefix("https://www.reddit.com/rpan/r/"))
            }
            try await fixture.another { _ in
                for _ in 0..<3 { try await fixture.nextRound() }
                // A poll decides in its transaction whether to publish, so a second event would be in the outbox by now.
                // An event leaves the outbox shortly after push received it.
                try await eventually(within: .seconds(30), "empty") {
                    try await fixture.service.database.pool.all(
                        "SELECT count(*) AS waiting FROM event_outbox",
                        as: { try $0.int("waiting") }
                    ) == [0]
                }
            }
            #expect(fixture.push.events.count == 2)
            #expect(Set(fixture.push.events.map(\.streamId)).count == 2)
        }
    }

    @Test("A broadcast that started long ago is not published")
    func oldStream() async throws {
        try await withBroadcasts { fixture in
            try await fixture.waitUntilListed { $0.count == 3 }
            try await eventually { fixture.push.events.count == 1 }

            // The sandbox's three broadcasts started 10, 20 and 30 minutes ago.
            for _ in 0..<2 { try await fixture.nextRound() }
            #expect(fixture.push.events.map(\.broadcaster) == ["pianist"])
        }
    }

    @Test("Two instances poll once per interval")
    func twoInstances() async throws {
        try await withBroadcasts { fixture in
            try await fixture.another { _ in
                let polls = fixture.live.polls
                for _ in 0..<4 { try await fixture.nextRound() }
                // The database counts the polls of both instances.
                let rounds = try await fixture.service.database.pool.all(
                    "SELECT round FROM broadcast_poll",
                    as: { try $0.int("round") }
                )
                #expect(fixture.live.polls == polls + 4)
                #expect(rounds == [fixture.live.polls])
            }
        }
    }

    @Test("A poll that another instance scheduled too far ahead runs anyway")
    func clockAhead() async throws {
        try await withBroadcasts { fixture in
            let polls = fixture.live.polls
            try await fixture.service.database.pool.run(
                "UPDATE broadcast_poll SET due_at = \(fixture.clock.read() + 3_600)"
            )

            try await eventually { fixture.live.polls > polls }
        }
    }

    @Test("An incomplete broadcast is listed, and published when it is complete")
    func incompleteStream() async throws {
        try await withBroadcasts { fixture in
            try await eventually { fixture.push.events.count == 1 }
            let id = fixture.live.begin("cellist", isPublished: false).id
            fixture.live.begin(nil, in: "pan")
            try await fixture.nextRound()
            try await fixture.waitUntilListed { $0.count == 5 }
            #expect(fixture.push.events.count == 1)

            fixture.live.publish(id)
            try await fixture.nextRound()
            try await eventually { fixture.push.events.count == 2 }
            for _ in 0..<3 { try await fixture.nextRound() }

            #expect(fixture.push.events.last?.streamId == id)
            #expect(fixture.push.events.count == 2)
            let unnamed = try await fixture.broadcasts().json["broadcasts"].array.filter { $0["broadcaster"] == .null }
            #expect(unnamed.count == 1)
        }
    }

    @Test("An ended broadcast is found by id, with or without prefix, and an unknown one responds 404")
    func endedStream() async throws {
        try await withBroadcasts { fixture in
            let stream = fixture.live.begin("cellist")
            try await fixture.nextRound()
            try await fixture.waitUntilListed { $0.count == 4 }
            fixture.push.setFavourites(["cellist"])
            let onAir = try await fixture.ann.ask(.get, "/broadcasts/\(stream.id)")

            fixture.live.end(stream.id)
            try await fixture.nextRound()
            try await fixture.waitUntilListed { $0.count == 3 }
            let after = try await fixture.ann.ask(.get, "/broadcasts/\(stream.id.dropFirst(3))")
            let unknown = try await fixture.ann.ask(.get, "/broadcasts/t3_none")

            #expect(onAir.json["state"].string == "IS_LIVE")
            #expect(onAir.json["favourite"].bool == true)
            #expect(after.json["state"].string == "ENDED")
            #expect(after.json["id"].string == stream.id)
            #expect(unknown.status == 404)
            #expect(unknown.json["code"].string == "broadcast_not_found")
        }
    }

    @Test(
        "The last list is returned for a minute after a failed poll, and then 503",
        arguments: [
            ScriptRule(service: .rpan, status: 503), ScriptRule(service: .rpan, status: 429),
            ScriptRule(service: .rpan, behaviour: .html), ScriptRule(service: .rpan, behaviour: .malformed),
            ScriptRule(service: .rpan, behaviour: .large), ScriptRule(service: .rpan, behaviour: .cut),
        ]
    )
    func pollFailure(rule: ScriptRule) async throws {
        try await withBroadcasts { fixture in
            try await fixture.waitUntilListed { $0.count == 3 }
            try fixture.sandbox.script.add(rule)
            fixture.clock.advance(by: 5)
            try await fixture.waitForFailures(1)
            let soon = try await fixture.broadcasts()
            fixture.clock.advance(by: 61)
            try await fixture.waitForFailures(2)
            let late = try await fixture.broadcasts()
            fixture.sandbox.script.clear()
            fixture.clock.advance(by: 61)
            try await eventually { try await fixture.broadcasts().status == 200 }

            #expect(soon.status == 200)
            #expect(soon.json["broadcasts"].array.count == 3)
            #expect(late.status == 503)
            #expect(late.headers[.retryAfter] != nil)
            let recovered = try await fixture.broadcasts()
            #expect(recovered.json["broadcasts"].array.count == 3)
        }
    }

    @Test("The list of communities includes those of broadcasts, each once")
    func communities() async throws {
        try await withBroadcasts { fixture in
            fixture.live.begin("cellist", in: "GarageCrew")
            try await fixture.nextRound()
            try await fixture.waitUntilListed { $0.count == 4 }

            let list = try await fixture.ann.ask(.get, "/broadcasts/communities").json["communities"].array

            let names = list.compactMap { $0["name"].string }
            #expect(names.contains("GarageCrew"))
            #expect(names.contains("TalentShow"))
            #expect(names.contains("lgbt"))
            #expect(Set(names.map { $0.lowercased() }).count == names.count)
            #expect(list.first { $0["name"].string == "GarageCrew" }?["icon"].string?.hasPrefix("http") == true)
        }
    }

    @Test("An administrator's changes of the list take effect on every instance")
    func officialCommunities() async throws {
        try await withBroadcasts { fixture in
            let admin = try await fixture.administrator()
            try await fixture.another { other in
                let added = try await admin.ask(.put, "/broadcasts/communities/GardenTalk")
                let removed = try await admin.ask(.delete, "/broadcasts/communities/talentshow")
                let again = try await admin.ask(.delete, "/broadcasts/communities/talentshow")
                let malformed = try await admin.ask(.put, "/broadcasts/communities/r%2Fpan")
                let ann = try await TestUser(fixture.ann.id, at: other, fixture.keys)
                let list = try await ann.ask(.get, "/broadcasts/communities").json["communities"].array

                #expect(added.status == 200)
                #expect(added.json["official"].bool == true)
                #expect(removed.status == 200)
                #expect(again.status == 404)
                #expect(again.problem?.code == "community_not_found")
                #expect(malformed.status == 400)
                #expect(malformed.problem?.field == "name")
                #expect(list.first { $0["name"].string == "GardenTalk" }?["official"].bool == true)
                #expect(list.first { $0["name"].string == "lgbt" }?["official"].bool == true)
                #expect(!list.contains { $0["name"].string == "TalentShow" })
            }
        }
    }

    @Test("A broadcast does not restore a removed community")
    func removedCommunity() async throws {
        try await withBroadcasts { fixture in
            let admin = try await fixture.administrator()
            let removed = try await admin.ask(.delete, "/broadcasts/communities/TalentShow")
            fixture.live.begin("cellist", in: "TalentShow")
            try await fixture.nextRound()
            try await fixture.waitUntilListed { $0.count == 4 }

            let list = try await fixture.ann.ask(.get, "/broadcasts/communities").json["communities"].array

            #expect(removed.status == 200)
            #expect(!list.contains { $0["name"].string == "TalentShow" })
        }
    }

    @Test("Only administrators can change the list of communities")
    func communitiesOfAdministrator() async throws {
        try await withBroadcasts { fixture in
            let added = try await fixture.ann.ask(.put, "/broadcasts/communities/GardenTalk")
            let removed = try await fixture.ann.ask(.delete, "/broadcasts/communities/pan")
            let list = try await fixture.ann.ask(.get, "/broadcasts/communities").json["communities"].array

            #expect(added.status == 403)
            #expect(removed.status == 403)
            #expect(list.contains { $0["name"].string == "pan" })
        }
    }

    @Test("The operator's command changes the list of communities")
    func communitiesOfOperator() async throws {
        try await withBroadcasts { fixture in
            let client = SocialClient(try fixture.service.peerClient("roost", callee: "social"))
            let added = try await client.operatorAddCommunity("GardenTalk")
            try await client.operatorRemoveCommunity("pan")
            let listed = try await client.operatorCommunities()

            #expect(added.official)
            #expect(listed.contains { $0.name == "GardenTalk" && $0.official })
            #expect(!listed.contains { $0.name == "pan" })
            let photos = SocialClient(try fixture.service.peerClient("photos", callee: "social"))
            await #expect(throws: APIError.self) { try await photos.operatorCommunities() }
        }
    }

    @Test("Requests without credentials respond 403")
    func authentication() async throws {
        try await withBroadcasts { fixture in
            for path in ["/broadcasts", "/broadcasts/communities", "/broadcasts/t3_x"] {
                let answer = try await fixture.service.send(.get, path)
                #expect(answer.status == 403, "\(path)")
            }
            let imported = try await fixture.service.send(.post, "/broadcasts/import")
            #expect(imported.status == 403)
        }
    }
}

extension BroadcastFixture {
    /// Returns an administrator of Roost.
    fileprivate func administrator() async throws -> Administrator {
        let user = User.ID(application: RoostApplication.id, user: "root")
        return Administrator(id: user, token: try await keys.token(for: user, scope: "admin"), service: service)
    }

    fileprivate struct Administrator: SignedInUser {
        let id: User.ID
        let token: String
        let service: TestService
    }

    /// Waits until a number of consecutive polls have failed.
    func waitForFailures(_ count: Int) async throws {
        try await eventually {
            let failures = try await service.database.pool.all(
                "SELECT failures FROM broadcast_poll",
                as: { try $0.int("failures") }
            )
            return failures.first ?? 0 >= count
        }
    }
}
