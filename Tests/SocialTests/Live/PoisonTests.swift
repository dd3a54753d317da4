import Foundation
import Logging
import Postgres
import PushAPI
import ServiceHost
import SocialAPI
import Testing
import TestSupport
import Wire

@testable import SocialServer

/// A bad row between two good ones.
@Suite("Rows that social cannot read") struct PoisonTests {
    private let push = PushStandIn()

    /// Changes in three lists of Ann, which push is to be told of.
    private func withChanges(
        _ lists: [String],
        _ body: (TestDatabase, PushTelling) async throws -> Void
    ) async throws {
        try await TestDatabase.with(migrations: ServiceHost.migrations(of: SocialService.self)) { database in
            for (place, list) in lists.enumerated() {
                try await database.pool.run(
                    """
                    INSERT INTO changes (
                        application_id, user_id, place, kind, list, item_id, happened_at, is_untold
                    )
                    VALUES ('other', 'ann', \(place + 1), 'created', \(list), 'twitter:\(unsafe: "\(place)")', now(), true)
                    """
                )
            }
            let telling = PushTelling(
                database: database.pool,
                push: PushClient(push.client),
                setAside: database.setAside([.change]),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: { Date() }
            )
            try await body(database, telling)
        }
    }

    @Test("A change that cannot be read delays no other, and a stream gets past it")
    func change() async throws {
        try await withChanges(["messages", "future", "messages"]) { database, telling in
            _ = try await telling.round()
            #expect(push.taken.compactMap { $0.data?["id"].string } == ["twitter:0", "twitter:2"])
            let user = User.ID(application: "other", user: "ann")
            let seen = try await JournalStore(db: database.pool).changes(of: user, after: 0, limit: 10)
            #expect(seen.map { $0.place } == [1, 2, 3] && seen.map { $0.change == nil } == [false, true, false])
            try await PoisonTest(.change, in: database).check { _ = try await telling.round() }
        }
    }

    @Test("A change that push refuses loses no other")
    func refusedChange() async throws {
        try await withChanges(["messages", "messages", "messages"]) { database, telling in
            push.refuse { $0.data?["id"].string == "twitter:1" ? APIError.invalid("body", "too long") : nil }
            _ = try await telling.round()
            #expect(push.taken.compactMap { $0.data?["id"].string } == ["twitter:0", "twitter:2"])
            let entries = try await database.setAside([.change]).list(before: nil, limit: 10).things
            #expect(entries.map(\.key) == [["other", "ann", "2"]] && entries.map(\.reason) == ["failing"])
        }
    }

    @Test("A post for later that cannot be read delays no other")
    func scheduledPost() async throws {
        try await withSocial { scene in
            try await scene.link(.twitter)
            for text in ["one", "bad", "two"] { _ = try await scene.schedule(text, after: 60) }
            _ = try await scene.rows(
                "UPDATE posts SET draft = '[]' WHERE draft ->> 'text' = 'bad' RETURNING post_id::text AS row"
            )
            scene.clock.advance(by: 61)
            try await eventually { Set(scene.networks[.twitter].seen.value.map(\.text)) == ["one", "two"] }
            try await PoisonTest(.scheduledPost, in: scene.service.database, now: scene.clock.read).check()
        }
    }

    @Test("A delivery that cannot be read costs no other a look")
    func delivery() async throws {
        try await withSocial { scene in
            _ = try await scene.rows(
                """
                WITH post AS (
                    INSERT INTO posts (post_id, application_id, user_id, draft, created_at, due_at, is_scheduled)
                    SELECT gen_random_uuid(), 'other', 'ann', '{"text": "once"}', now(), now(), false
                    FROM generate_series(1, 3)
                    RETURNING post_id
                ), numbered AS (SELECT post_id, row_number() OVER () AS n FROM post)
                INSERT INTO deliveries (post_id, network, state, changed_at)
                SELECT post_id, CASE n WHEN 2 THEN 'future' ELSE 'twitter' END, 'sent', now() - interval '1 hour'
                FROM numbered
                RETURNING network AS row
                """
            )
            try await eventually {
                try await scene.rows("SELECT looks::text AS row FROM deliveries WHERE network = 'twitter'") == [
                    "1", "1",
                ]
            }
            try await PoisonTest(.delivery, in: scene.service.database, now: scene.clock.read).check()
            #expect(
                try await scene.rows("SELECT looks::text AS row FROM deliveries WHERE network = 'twitter'") == [
                    "1", "1",
                ]
            )
        }
    }

    @Test("A list whose state cannot be read stops no other from being polled")
    func watch() async throws {
        try await withSocial(settings: ["SOCIAL_POLLS_PER_HOUR": Scene.looks(1_000_000)]) { scene in
            let network = scene.networks[.twitter]
            try await scene.link(.twitter)
            try await scene.looked(at: network, "feed ann")
            _ = try await scene.rows(
                """
                UPDATE watches SET seen = '5', due_at = '-infinity' WHERE list = 'messages' RETURNING list AS row
                """
            )
            try await scene.looked(at: network, "feed ann")
            try await scene.looked(at: network, "notifications ann")
            try await PoisonTest(.watch, in: scene.service.database, now: scene.clock.read).check()
        }
    }

    @Test("An account that cannot be read keeps no other user from being followed")
    func account() async throws {
        try await withSocial { scene in
            try await scene.link(.mastodon)
            try await scene.bob.link(.mastodon, "bob", #", "instance": "mastodon.example""#)
            _ = try await scene.rows(
                "UPDATE accounts SET details = '[]' WHERE user_id = 'ann' RETURNING user_id AS row"
            )
            try await scene.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: scene.ann.token) { ann in
                    #expect(await ann.event()?.name == "ready")
                    try await EventStreamClient.with(port: port, "/stream", token: scene.bob.token) { bob in
                        #expect(await bob.event()?.name == "ready")
                        let network = scene.networks[.mastodon]
                        try await eventually { network.lines.value["bob"] != nil }
                    }
                }
            }
        }
    }

    @Test("A webhook delivery records the events of other users beside a row that cannot be read")
    func delivered() async throws {
        try await withSocial { scene in
            try await scene.link(.facebook)
            try await scene.bob.link(.facebook, "bob")
            _ = try await scene.rows("UPDATE watches SET seen = '5' WHERE user_id = 'ann' RETURNING list AS row")
            let body = "id of ann created one 7\nid of bob created two 7"
            #expect(try await scene.service.call("/webhooks/facebook", body).status == 200)
            let recorded = try await scene.rows("SELECT user_id || ' ' || item_id AS row FROM changes")
            #expect(recorded == ["bob facebook:two"])
        }
    }
}
