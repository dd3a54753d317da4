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

/// Each test has an unreadable row between two valid ones.
@Suite("Rows that social cannot read") struct UnreadableRowTests {
    private let push = FakePush()

    /// Inserts changes of Ana in the lists, which are waiting for push.
    private func withChanges(
        _ lists: [String],
        _ body: (TestDatabase, ChangePushOutbox) async throws -> Void
    ) async throws {
        try await TestDatabase.with(migrations: ServiceHost.migrations(of: SocialService.self)) { database in
            for (number, list) in lists.enumerated() {
                try await database.pool.run(
                    """
                    INSERT INTO changes (
                        application_id, user_id, number, kind, list, item_id, happened_at, needs_push
                    )
                    VALUES ('other', 'ann', \(number + 1), 'created', \(list), 'twitter:\(unsafe: "\(number)")', now(), true)
                    """
                )
            }
            let outbox = ChangePushOutbox(
                database: database.pool,
                push: PushClient(push.client),
                setAside: database.setAside([.change]),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: { Date() }
            )
            try await body(database, outbox)
        }
    }

    @Test("A change that cannot be read delays no other, and a stream skips it")
    func change() async throws {
        try await withChanges(["messages", "future", "messages"]) { database, outbox in
            _ = try await outbox.round()
            #expect(push.taken.compactMap { $0.data?["id"].string } == ["twitter:0", "twitter:2"])
            let user = User.ID(application: "other", user: "ann")
            let seen = try await ChangeStore(db: database.pool).changes(of: user, after: 0, limit: 10)
            #expect(seen.map { $0.number } == [1, 2, 3])
            #expect(seen.map { $0.change == nil } == [false, true, false])
            try await PoisonTest(.change, in: database).check { _ = try await outbox.round() }
        }
    }

    @Test("A change that push rejects delays no other")
    func rejectedChange() async throws {
        try await withChanges(["messages", "messages", "messages"]) { database, outbox in
            push.refuse { $0.data?["id"].string == "twitter:1" ? APIError.invalid("body", "too long") : nil }
            _ = try await outbox.round()
            #expect(push.taken.compactMap { $0.data?["id"].string } == ["twitter:0", "twitter:2"])
            let entries = try await database.setAside([.change]).list(before: nil, limit: 10).items
            #expect(entries.map(\.key) == [["other", "ann", "2"]])
            #expect(entries.map(\.reason) == ["failing"])
        }
    }

    @Test("A scheduled post that cannot be read delays no other")
    func scheduledPost() async throws {
        try await withSocial { fixture in
            try await fixture.link(.twitter)
            for text in ["one", "bad", "two"] { _ = try await fixture.schedule(text, after: 60) }
            _ = try await fixture.rows(
                "UPDATE posts SET draft = '[]' WHERE draft ->> 'text' = 'bad' RETURNING post_id::text AS row"
            )
            fixture.clock.advance(by: 61)
            try await eventually { Set(fixture.networks[.twitter].seen.value.map(\.text)) == ["one", "two"] }
            try await PoisonTest(.scheduledPost, in: fixture.service.database, now: fixture.clock.read).check()
        }
    }

    @Test("A publication that cannot be read does not prevent the lookup of others")
    func publication() async throws {
        try await withSocial { fixture in
            _ = try await fixture.rows(
                """
                WITH post AS (
                    INSERT INTO posts (post_id, application_id, user_id, draft, created_at, due_at, is_scheduled)
                    SELECT gen_random_uuid(), 'other', 'ann', '{"text": "once"}', now(), now(), false
                    FROM generate_series(1, 3)
                    RETURNING post_id
                ), numbered AS (SELECT post_id, row_number() OVER () AS n FROM post)
                INSERT INTO publications (post_id, network, state, changed_at)
                SELECT post_id, CASE n WHEN 2 THEN 'future' ELSE 'twitter' END, 'sent', now() - interval '1 hour'
                FROM numbered
                RETURNING network AS row
                """
            )
            try await eventually {
                try await fixture.rows("SELECT lookups::text AS row FROM publications WHERE network = 'twitter'") == [
                    "1", "1",
                ]
            }
            try await PoisonTest(.publication, in: fixture.service.database, now: fixture.clock.read).check()
            #expect(
                try await fixture.rows("SELECT lookups::text AS row FROM publications WHERE network = 'twitter'") == [
                    "1", "1",
                ]
            )
        }
    }

    @Test("A list whose state cannot be read does not prevent polls of others")
    func polledList() async throws {
        try await withSocial(settings: ["SOCIAL_POLLS_PER_HOUR": SocialFixture.pollsPerHour(1_000_000)]) { fixture in
            let network = fixture.networks[.twitter]
            try await fixture.link(.twitter)
            try await fixture.polled(at: network, "feed ann")
            _ = try await fixture.rows(
                """
                UPDATE polled_lists SET seen = '5', due_at = '-infinity' WHERE list = 'messages' RETURNING list AS row
                """
            )
            try await fixture.polled(at: network, "feed ann")
            try await fixture.polled(at: network, "notifications ann")
            try await PoisonTest(.polledList, in: fixture.service.database, now: fixture.clock.read).check()
        }
    }

    @Test("An account that cannot be read does not prevent the streams of others")
    func account() async throws {
        try await withSocial { fixture in
            try await fixture.link(.mastodon)
            try await fixture.bob.link(.mastodon, "bob", #", "instance": "mastodon.example""#)
            _ = try await fixture.rows(
                "UPDATE accounts SET details = '[]' WHERE user_id = 'ann' RETURNING user_id AS row"
            )
            try await fixture.service.served { port in
                try await EventStreamClient.with(port: port, "/stream", token: fixture.ann.token) { ann in
                    #expect(await ann.event()?.name == "ready")
                    try await EventStreamClient.with(port: port, "/stream", token: fixture.bob.token) { bob in
                        #expect(await bob.event()?.name == "ready")
                        let network = fixture.networks[.mastodon]
                        try await eventually { network.openStreams.value["bob"] != nil }
                    }
                }
            }
        }
    }

    @Test("A webhook records the events of other users despite a row that cannot be read")
    func webhook() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook)
            try await fixture.bob.link(.facebook, "bob")
            _ = try await fixture.rows("UPDATE polled_lists SET seen = '5' WHERE user_id = 'ann' RETURNING list AS row")
            let body = "id of ann created one 7\nid of bob created two 7"
            #expect(try await fixture.service.call("/webhooks/facebook", body).status == 200)
            let recorded = try await fixture.rows("SELECT user_id || ' ' || item_id AS row FROM changes")
            #expect(recorded == ["bob facebook:two"])
        }
    }
}
