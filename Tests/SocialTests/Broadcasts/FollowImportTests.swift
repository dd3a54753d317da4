import Foundation
import HTTPTypes
import PushAPI
import SandboxServer
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// Whom somebody follows on Reddit becomes a favourite.
@Suite(.timeLimit(.minutes(2))) struct FollowImportTests {
    @Test func pages() async throws {
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
            let handed = try #require(fixture.push.imports.first)
            #expect(handed.userId == "ann" && handed.applicationId == Fixture.application)
            #expect(Set(handed.broadcasters.map(\.name)) == Set(followed))
            #expect(handed.broadcasters.allSatisfy { $0.iconUrl?.hasPrefix("http") == true })
        }
    }

    @Test func notLinked() async throws {
        try await withBroadcasts { fixture in
            let answer = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 404 && answer.json["code"].string == "not_linked")
        }
    }

    @Test func daily() async throws {
        try await withBroadcasts { fixture in
            let store = FollowImportStore(db: fixture.service.database.pool)
            try await fixture.link(fixture.ann, as: "ana", isDue: true)
            let now = fixture.clock.read()
            let user = fixture.ann.id

            let first = try await store.claim(limit: 10, at: now, next: now + 3_600)
            // Where the service's own first look came only now, it has had her turn.
            if first.isEmpty { try await eventually { fixture.push.imports.map(\.userId) == [user.user] } }
            let second = try await store.claim(limit: 10, at: now, next: now + 3_600)
            _ = try await fixture.ann.ask(.post, "/broadcasts/import", "{}")
            let nextDay = try await store.claim(limit: 10, at: now + 86_000, next: now + 90_000)
            let dayAfter = try await store.claim(limit: 10, at: now + 86_401, next: now + 90_000)

            #expect([[user], []].contains(first) && second.isEmpty)
            #expect(nextDay.isEmpty && dayAfter == [user])
        }
    }

    @Test func expiredToken() async throws {
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

    @Test(arguments: [
        ScriptRule(service: .reddit, path: "subreddits", status: 429, retryAfter: 30),
        ScriptRule(service: .reddit, path: "subreddits", status: 503),
        ScriptRule(service: .reddit, path: "subreddits", behaviour: .html),
    ])
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
