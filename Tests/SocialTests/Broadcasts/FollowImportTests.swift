import Foundation
import HTTPTypes
import PushAPI
import SandboxServer
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Import of follows from Reddit", .timeLimit(.minutes(2))) struct FollowImportTests {
    @Test("An import follows all pages and adds the users who are not favourites yet")
    func pages() async throws {
        let followed = (0..<130).map { "streamer\($0)" }
        try await withBroadcasts { sandbox in
            _ = sandbox.networks.account("zoe", on: .reddit, follows: followed)
        } _: { fixture in
            fixture.push.setFavourites(["streamer7"])
            try await fixture.link(fixture.ann, as: "zoe")

            let answer = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 200)
            #expect(answer.json["found"].int == 130)
            #expect(Set(answer.json["added"].array.compactMap(\.string)) == Set(followed).subtracting(["streamer7"]))
            let imported = try #require(fixture.push.imports.first)
            #expect(imported.userId == "ann")
            #expect(imported.applicationId == SocialFixture.application)
            #expect(Set(imported.broadcasters.map(\.name)) == Set(followed))
            #expect(imported.broadcasters.allSatisfy { $0.iconUrl?.hasPrefix("http") == true })
        }
    }

    @Test("An import without a linked account responds 404")
    func notLinked() async throws {
        try await withBroadcasts { fixture in
            let answer = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 404)
            #expect(answer.json["code"].string == "not_linked")
        }
    }

    @Test("A user's follows are imported once a day")
    func daily() async throws {
        try await withBroadcasts { fixture in
            let store = FollowImportStore(db: fixture.service.database.pool)
            try await fixture.link(fixture.ann, as: "ana", isDue: true)
            let now = fixture.clock.read()
            let user = fixture.ann.id

            let first = try await store.claim(limit: 10, at: now, next: now + 3_600)
            // The service's background task may import this user before the test claims the import. `first` is then
            // empty, and the test waits for that import.
            if first.isEmpty { try await eventually { fixture.push.imports.map(\.userId) == [user.user] } }
            let second = try await store.claim(limit: 10, at: now, next: now + 3_600)
            _ = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")
            let nextDay = try await store.claim(limit: 10, at: now + 86_000, next: now + 90_000)
            let dayAfter = try await store.claim(limit: 10, at: now + 86_401, next: now + 90_000)

            #expect([[user], []].contains(first))
            #expect(second.isEmpty)
            #expect(nextDay.isEmpty)
            #expect(dayAfter == [user])
        }
    }

    @Test("An expired token is renewed, and the import succeeds")
    func expiredToken() async throws {
        try await withBroadcasts { fixture in
            try await fixture.link(fixture.ann, as: "ana")
            try fixture.sandbox.script.add(
                ScriptRule(service: .reddit, path: "subreddits", behaviour: .expire, times: 1)
            )

            let answer = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 200)
            #expect(answer.json["added"].array.compactMap(\.string).contains("pianist"))
        }
    }

    @Test(
        "An import during a failure of Reddit responds 503 and imports nothing",
        arguments: [
            ScriptRule(service: .reddit, path: "subreddits", status: 429, retryAfter: 30),
            ScriptRule(service: .reddit, path: "subreddits", status: 503),
            ScriptRule(service: .reddit, path: "subreddits", behaviour: .html),
        ]
    )
    func redditFailure(rule: ScriptRule) async throws {
        try await withBroadcasts { fixture in
            try await fixture.link(fixture.ann, as: "ana")
            try fixture.sandbox.script.add(rule)

            let answer = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 503)
            #expect(fixture.push.imports.isEmpty)
        }
    }
}
