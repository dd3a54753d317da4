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
    @Test func peopleOfAllPagesAreHandedToPushAndNoCommunity() async throws {
        let followed = (0..<130).map { "streamer\($0)" }
        try await withBroadcasts { sandbox in
            _ = sandbox.networks.account("zoe", on: .reddit, follows: followed)
        } _: { scene in
            scene.push.favour(["streamer7"])
            try await scene.link(scene.ann, as: "zoe")

            let answer = try await scene.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 200)
            #expect(answer.json["found"].int == 130)
            #expect(Set(answer.json["added"].array.compactMap(\.string)) == Set(followed).subtracting(["streamer7"]))
            let handed = try #require(scene.push.imports.first)
            #expect(handed.userId == "ann" && handed.applicationId == Scene.application)
            #expect(Set(handed.broadcasters.map(\.name)) == Set(followed))
            #expect(handed.broadcasters.allSatisfy { $0.iconUrl?.hasPrefix("http") == true })
        }
    }

    @Test func whoHasNotLinkedRedditIsToldSo() async throws {
        try await withBroadcasts { scene in
            let answer = try await scene.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 404 && answer.json["code"].string == "not_linked")
        }
    }

    @Test func itGoesByItselfOnceADayOnAllInstancesTogether() async throws {
        try await withBroadcasts { scene in
            let store = FollowImportStore(db: scene.service.database.pool)
            try await scene.link(scene.ann, as: "ana", isDue: true)
            let now = scene.clock.read()
            let user = scene.ann.id

            let first = try await store.claim(limit: 10, at: now, next: now + 3_600)
            // Where the service's own first look came only now, it has had her turn.
            if first.isEmpty { try await eventually { scene.push.imports.map(\.userId) == [user.user] } }
            let second = try await store.claim(limit: 10, at: now, next: now + 3_600)
            _ = try await scene.ann.ask(.post, "/broadcasts/import", "{}")
            let nextDay = try await store.claim(limit: 10, at: now + 86_000, next: now + 90_000)
            let dayAfter = try await store.claim(limit: 10, at: now + 86_401, next: now + 90_000)

            #expect([[user], []].contains(first) && second.isEmpty)
            #expect(nextDay.isEmpty && dayAfter == [user])
        }
    }

    @Test func anExpiredTokenIsRenewedOnTheWay() async throws {
        try await withBroadcasts { scene in
            try await scene.link(scene.ann, as: "ana")
            try scene.sandbox.script.add(ScriptRule(service: .reddit, path: "subreddits", behaviour: .expire, times: 1))

            let answer = try await scene.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 200)
            #expect(answer.json["added"].array.compactMap(\.string).contains("pianist"))
        }
    }

    @Test(arguments: [
        ScriptRule(service: .reddit, path: "subreddits", status: 429, retryAfter: 30),
        ScriptRule(service: .reddit, path: "subreddits", status: 503),
        ScriptRule(service: .reddit, path: "subreddits", behaviour: .html),
    ])
    func whatRedditCannotDoIsSaid(rule: ScriptRule) async throws {
        try await withBroadcasts { scene in
            try await scene.link(scene.ann, as: "ana")
            try scene.sandbox.script.add(rule)

            let answer = try await scene.ann.ask(.post, "/broadcasts/import", "{}")

            #expect(answer.status == 503)
            #expect(scene.push.imports.isEmpty)
        }
    }
}
