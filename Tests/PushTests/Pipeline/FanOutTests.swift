import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport
import Wire

@testable import PushServer

@Suite struct FanOutTests {
    @Test func everyDecisionIsInTheLogWithItsReason() async throws {
        try await withPipeline { scene in
            for name in ["off", "kind", "notify", "deny", "favourite", "none", "good"] where name != "none" {
                try await scene.device(of: name)
            }
            for name in ["off", "kind", "deny", "none", "good"] { try await scene.favour("pianist", by: name) }
            try await scene.favour("pianist", by: "notify", notify: false)
            try await scene.favour("pianist", by: "favourite", without: ["redditsets"])
            try await scene.pool.run(
                """
                INSERT INTO settings (application_id, user_id, enabled, disabled_communities, disabled_kinds)
                VALUES ('acme', 'off', false, '{}', '{}'), ('acme', 'kind', true, '{}', '{broadcast}'),
                       ('acme', 'deny', true, '{redditsets}', '{}')
                """
            )

            try await scene.goLive("pianist", stream: "s1", in: "RedditSets")
            try await scene.run()

            #expect(try await scene.outcomes(of: "off") == ["withheld disabled"])
            #expect(try await scene.outcomes(of: "kind") == ["withheld kind_disabled"])
            #expect(try await scene.outcomes(of: "notify") == ["withheld favourite_off"])
            #expect(try await scene.outcomes(of: "deny") == ["withheld community_disabled"])
            #expect(try await scene.outcomes(of: "favourite") == ["withheld favourite_community_disabled"])
            #expect(try await scene.outcomes(of: "none") == ["withheld no_device"])
            #expect(try await scene.outcomes(of: "good") == ["sent"])
        }
    }

    @Test func manyAreDecidedInBatchesAndByWhoeverIsThere() async throws {
        try await withPipeline { scene in
            try await scene.crowd(2_500, favouring: "pianist")
            let other = scene.another()

            try await scene.goLive("pianist", stream: "s1")
            #expect(try await scene.pipeline.fanOut.round() == 1)
            #expect(try await scene.count("queue") == 1_000)
            #expect(try await other.fanOut.round() == 1)
            #expect(try await scene.count("queue") == 2_000)
            #expect(try await scene.pipeline.fanOut.round() == 1)
            #expect(try await other.fanOut.round() == 0)
            try await scene.run()

            #expect(scene.provider.sent.count == 2_500 && scene.provider.doubles == 0)
            #expect(Set(scene.provider.sent.map(\.token)).count == 2_500)
            #expect(try await scene.count("fanouts") == 0)
        }
    }

    /// What is known of the tables as they are at rest says nothing of how they are in the middle of a big one.
    @Test func ofTablesThatWereEmptyNoRowIsReadForEachOther() async throws {
        try await withPipeline { scene in
            try await scene.pool.run("ANALYZE queue, cooldowns, settings, log, failures, circuits")
            try await scene.crowd(3_000, favouring: "pianist")

            try await scene.goLive("pianist", stream: "s1")
            try await scene.run()

            #expect(scene.provider.sent.count == 3_000)
            // A connection says what it has read within ten seconds.
            try await eventually(within: .seconds(30)) {
                let queue = try await scene.traffic(of: "queue")
                return queue.written == 9_000
            }
            #expect(try await scene.traffic(of: "queue").read < 3_000 * 30)
            #expect(try await scene.traffic(of: "cooldowns").read < 3_000 * 30)
        }
    }

    @Test func aBigOneTakesTurnsWithOthers() async throws {
        try await withPipeline { scene in
            try await scene.crowd(3_000, favouring: "pianist")
            try await scene.device(of: "ann")
            // Of the same lane.
            try await scene.goLive("pianist", stream: "s1")
            try await scene.pool.run("UPDATE fanouts SET lane = 0")
            _ = try await scene.pipeline.fanOut.round()
            try await scene.notify(["ann"])
            try await scene.pool.run("UPDATE fanouts SET lane = 0")

            _ = try await scene.pipeline.fanOut.round()

            let isQueued = try await scene.pool.one(
                "SELECT EXISTS (SELECT FROM queue WHERE user_id = 'ann') AS is_queued",
                as: { try $0.bool("is_queued") }
            )
            #expect(isQueued)
        }
    }

    @Test func whatCannotBeDecidedKeepsNothingElseWaiting() async throws {
        try await withPipeline { scene in
            for name in ["ann", "bad", "bob"] { try await scene.device(of: name) }
            try await scene.pool.run("ALTER TABLE queue ADD CONSTRAINT test CHECK (user_id <> 'bad')")
            for name in ["ann", "bad", "bob"] { try await scene.notify([name]) }
            // Of one lane, and in one batch.
            try await scene.pool.run("UPDATE fanouts SET lane = 0")

            try await scene.run()

            #expect(Set(scene.provider.sent.map(\.token)) == ["ann-phone", "bob-phone"])
            #expect(try await scene.count("fanouts") == 1)

            try await scene.pool.run("ALTER TABLE queue DROP CONSTRAINT test")
            try await scene.run()
            #expect(try await scene.outcomes(of: "bad") == [])
            scene.clock.advance(by: 61)
            try await scene.run()
            #expect(try await scene.outcomes(of: "bad") == ["sent"])
        }
    }

    @Test func devicesThatKnowAlreadyAreLeftOut() async throws {
        try await withPipeline { scene in
            try await scene.device("phone", of: "ann")
            try await scene.device("tablet", of: "ann", session: "session-1")
            try await scene.device("watch", of: "ann")

            try await scene.notify(["ann"]) { request in
                request.recipients = [.init(userId: "ann", exceptDeviceIds: ["phone", "session-1"])]
            }
            try await scene.notify(["ann"], "Nobody") { request in
                request.recipients = [.init(userId: "ann", exceptDeviceIds: ["phone", "tablet", "watch"])]
            }
            try await scene.run()

            #expect(scene.provider.sent.map(\.token) == ["ann-watch"])
            #expect(try await scene.outcomes(of: "ann") == ["sent", "withheld connected"])
        }
    }

    @Test("Each device of a user is notified once of each message, also when the request is repeated")
    func onceForEachDevice() async throws {
        try await withPipeline { scene in
            try await scene.device("phone", of: "ann")
            try await scene.device("tablet", of: "ann")

            for _ in 0..<3 {
                for id in ["message:1:1", "message:1:2"] { try await scene.notify(["ann", "ann"], id: id) }
                try await scene.run()
            }

            let tokens = scene.provider.sent.map(\.token).sorted()
            #expect(tokens == ["ann-phone", "ann-phone", "ann-tablet", "ann-tablet"])
            #expect(try await scene.outcomes(of: "ann") == ["sent", "sent", "sent", "sent"])
        }
    }

    @Test("Users whom the sender of a request left out are in the log, once")
    func withheld() async throws {
        try await withPipeline { scene in
            try await scene.device("phone", of: "ann")
            try await scene.device("phone", of: "bob")

            for _ in 0..<2 {
                try await scene.notify(["ann"], id: "message:1:1") { request in
                    request.withheld = [.init(reason: "conversation_muted", userIds: ["bob", "cat"])]
                }
            }
            try await scene.notify([], id: "message:1:2") { request in
                request.withheld = [.init(reason: "conversation_muted", userIds: ["bob"])]
            }
            try await scene.run()

            #expect(scene.provider.sent.map(\.token) == ["ann-phone"])
            #expect(try await scene.outcomes(of: "ann") == ["sent"])
            let muted = try await scene.outcomes(of: "bob")
            #expect(muted == ["withheld conversation_muted", "withheld conversation_muted"])
            #expect(try await scene.outcomes(of: "cat") == ["withheld conversation_muted"])
            #expect(try await scene.count("fanouts") == 0)
        }
    }

    @Test("A request with too many users who are only logged is refused")
    func tooManyWithheld() async throws {
        try await withPipeline { scene in
            let error = await #expect(throws: APIError.self) {
                try await scene.notify([]) { request in
                    request.withheld = [.init(reason: "conversation_muted", userIds: (0...1_000).map { "\($0)" })]
                }
            }
            #expect(error?.field == "notifications[0].withheld")
            let logged = try await scene.count("log")
            #expect(logged == 0)
        }
    }

    @Test func iconsCountWhatWasSentToEachDevice() async throws {
        try await withPipeline { scene in
            let phone = try await scene.device("phone", of: "ann")
            try await scene.device("tablet", of: "ann")
            try await scene.pool.run("UPDATE devices SET badge = 3 WHERE device_key = \(phone)")

            for number in 1...3 { try await scene.notify(["ann"], "\(number)") { $0.badge = .increment } }
            try await scene.notify(["ann"], "own") { request in
                request.badge = .increment
                request.recipients[0].badge = .number(9)
            }
            try await scene.notify(["ann"], "none")
            try await scene.run()

            func badges(_ token: String) -> [Int?] {
                scene.provider.sent.filter { $0.token == token }.map(\.message.badge)
            }
            #expect(badges("ann-phone") == [4, 5, 6, 9, nil])
            #expect(badges("ann-tablet") == [1, 2, 3, 9, nil])
            #expect(scene.provider.titles(to: "ann-phone") == ["1", "2", "3", "own", "none"])
        }
    }

    @Test func aTopicIsForThoseWhoSubscribeToIt() async throws {
        try await withPipeline { scene in
            for name in ["ann", "bob", "cat"] { try await scene.device(of: name) }
            try await scene.pool.run(
                """
                INSERT INTO topic_subscriptions (application_id, topic, user_id)
                VALUES ('acme', 'news', 'ann'), ('acme', 'news', 'bob'), ('acme', 'other', 'cat'), ('else', 'news', 'cat')
                """
            )

            let draft = NotificationDraft(to: .init(topic: "news"), title: "News")
            let sent = try await scene.pipeline.notifications.send(draft, as: "acme")
            try await scene.run()

            #expect(Set(scene.provider.sent.map(\.token)) == ["ann-phone", "bob-phone"])
            let report = try await scene.pipeline.notifications.show(sent.id, of: "acme")
            #expect(report.state == .done && report.people == 2 && report.devices == 2 && report.sent == 2)
        }
    }

    @Test func devicesAreNamedByTheClientsOwnIds() async throws {
        try await withPipeline { scene in
            try await scene.device("phone", of: "ann")
            try await scene.device("tablet", of: "ann")
            try await scene.device("phone", of: "bob", token: "else", application: "else")

            let draft = NotificationDraft(to: .init(deviceIds: ["phone", "unknown"]), title: "Hello")
            _ = try await scene.pipeline.notifications.send(draft, as: "acme")
            try await scene.run()

            #expect(scene.provider.sent.map(\.token) == ["ann-phone"])
        }
    }
}

extension PipelineScene {
    /// So many people with a device each, whose favourite somebody is.
    func crowd(_ count: Int, favouring broadcaster: String) async throws {
        try await pool.run(
            """
            INSERT INTO devices (
                application_id, user_id, device_id, platform, token, token_hash, registered_at, seen_at
            )
            SELECT 'acme', 'user-' || n, 'phone', 'gcm', 'token-' || n, sha256(convert_to('token-' || n, 'UTF8')),
                   \(clock.read()), \(clock.read())
            FROM generate_series(1, \(count)) AS n
            """
        )
        try await pool.run(
            """
            INSERT INTO subscriptions (application_id, user_id, broadcaster, name)
            SELECT 'acme', 'user-' || n, \(broadcaster), \(broadcaster) FROM generate_series(1, \(count)) AS n
            """
        )
    }

    /// How many rows of a table were inserted, updated and deleted, and how many were read for it.
    fileprivate func traffic(of table: String) async throws -> (written: Int, read: Int) {
        try await pool.one(
            """
            SELECT n_tup_ins + n_tup_upd + n_tup_del AS written, coalesce(idx_tup_fetch, 0) + seq_tup_read AS read
            FROM pg_stat_user_tables WHERE relid = \(table)::regclass
            """,
            as: { (try $0.int("written"), try $0.int("read")) }
        )
    }
}
