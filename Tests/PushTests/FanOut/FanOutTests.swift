import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport
import Wire

@testable import PushServer

@Suite("Fan-out") struct FanOutTests {
    @Test("The log has the reason why each user was not notified")
    func reasons() async throws {
        try await withPipeline { fixture in
            for name in ["off", "kind", "notify", "deny", "favourite", "none", "good"] where name != "none" {
                try await fixture.device(of: name)
            }
            for name in ["off", "kind", "deny", "none", "good"] { try await fixture.addFavourite("pianist", by: name) }
            try await fixture.addFavourite("pianist", by: "notify", notify: false)
            try await fixture.addFavourite("pianist", by: "favourite", without: ["redditsets"])
            try await fixture.pool.run(
                """
                INSERT INTO settings (application_id, user_id, enabled, disabled_communities, disabled_kinds)
                VALUES ('acme', 'off', false, '{}', '{}'), ('acme', 'kind', true, '{}', '{broadcast}'),
                       ('acme', 'deny', true, '{redditsets}', '{}')
                """
            )

            try await fixture.goLive("pianist", stream: "s1", in: "RedditSets")
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "off") == ["withheld disabled"])
            #expect(try await fixture.outcomes(of: "kind") == ["withheld kind_disabled"])
            #expect(try await fixture.outcomes(of: "notify") == ["withheld favourite_off"])
            #expect(try await fixture.outcomes(of: "deny") == ["withheld community_disabled"])
            #expect(try await fixture.outcomes(of: "favourite") == ["withheld favourite_community_disabled"])
            #expect(try await fixture.outcomes(of: "none") == ["withheld no_device"])
            #expect(try await fixture.outcomes(of: "good") == ["sent"])
        }
    }

    @Test("Two instances process a large fan-out in batches, without duplicates")
    func batches() async throws {
        try await withPipeline { fixture in
            try await fixture.addSubscribers(2_500, to: "pianist")
            let other = fixture.anotherInstance()

            try await fixture.goLive("pianist", stream: "s1")
            #expect(try await fixture.pipeline.fanOut.processBatch() == 1)
            #expect(try await fixture.count("queue") == 1_000)
            #expect(try await other.fanOut.processBatch() == 1)
            #expect(try await fixture.count("queue") == 2_000)
            #expect(try await fixture.pipeline.fanOut.processBatch() == 1)
            #expect(try await other.fanOut.processBatch() == 0)
            try await fixture.run()

            #expect(fixture.provider.sent.count == 2_500)
            #expect(fixture.provider.duplicates == 0)
            #expect(Set(fixture.provider.sent.map(\.token)).count == 2_500)
            #expect(try await fixture.count("fanouts") == 0)
        }
    }

    /// Statistics of empty tables must not lead to a bad plan while a large fan-out fills them.
    @Test("A large fan-out reads fewer than 30 rows of each table per user")
    func queryPlans() async throws {
        try await withPipeline { fixture in
            try await fixture.pool.run("ANALYZE queue, cooldowns, settings, log, failures, circuits")
            try await fixture.addSubscribers(3_000, to: "pianist")

            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.run()

            #expect(fixture.provider.sent.count == 3_000)
            // A connection reports its statistics within ten seconds.
            try await eventually(within: .seconds(30)) {
                let queue = try await fixture.traffic(of: "queue")
                return queue.written == 9_000
            }
            #expect(try await fixture.traffic(of: "queue").read < 3_000 * 30)
            #expect(try await fixture.traffic(of: "cooldowns").read < 3_000 * 30)
        }
    }

    @Test("A large fan-out does not delay a small one of its partition")
    func fairness() async throws {
        try await withPipeline { fixture in
            try await fixture.addSubscribers(3_000, to: "pianist")
            try await fixture.device(of: "ann")
            // Both fan-outs are moved to the same partition.
            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.pool.run("UPDATE fanouts SET partition = 0")
            _ = try await fixture.pipeline.fanOut.processBatch()
            try await fixture.notify(["ann"])
            try await fixture.pool.run("UPDATE fanouts SET partition = 0")

            _ = try await fixture.pipeline.fanOut.processBatch()

            let isQueued = try await fixture.pool.one(
                "SELECT EXISTS (SELECT FROM queue WHERE user_id = 'ann') AS is_queued",
                as: { try $0.bool("is_queued") }
            )
            #expect(isQueued)
        }
    }

    @Test("A notification that cannot be queued delays no other, and is retried after a minute")
    func failingRow() async throws {
        try await withPipeline { fixture in
            for name in ["ann", "bad", "bob"] { try await fixture.device(of: name) }
            try await fixture.pool.run("ALTER TABLE queue ADD CONSTRAINT test CHECK (user_id <> 'bad')")
            for name in ["ann", "bad", "bob"] { try await fixture.notify([name]) }
            // All three are in one partition and one batch.
            try await fixture.pool.run("UPDATE fanouts SET partition = 0")

            try await fixture.run()

            #expect(Set(fixture.provider.sent.map(\.token)) == ["ann-phone", "bob-phone"])
            #expect(try await fixture.count("fanouts") == 1)

            try await fixture.pool.run("ALTER TABLE queue DROP CONSTRAINT test")
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "bad") == [])
            fixture.clock.advance(by: 61)
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "bad") == ["sent"])
        }
    }

    @Test("Devices and sessions that a request excepts are not notified")
    func exceptedDevices() async throws {
        try await withPipeline { fixture in
            try await fixture.device("phone", of: "ann")
            try await fixture.device("tablet", of: "ann", session: "session-1")
            try await fixture.device("watch", of: "ann")

            try await fixture.notify(["ann"]) { request in
                request.recipients = [.init(userId: "ann", exceptDeviceIds: ["phone", "session-1"])]
            }
            try await fixture.notify(["ann"], "Nobody") { request in
                request.recipients = [.init(userId: "ann", exceptDeviceIds: ["phone", "tablet", "watch"])]
            }
            try await fixture.run()

            #expect(fixture.provider.sent.map(\.token) == ["ann-watch"])
            #expect(try await fixture.outcomes(of: "ann") == ["sent", "withheld connected"])
        }
    }

    @Test("Each device is notified once of each message, also when the request is repeated")
    func onceForEachDevice() async throws {
        try await withPipeline { fixture in
            try await fixture.device("phone", of: "ann")
            try await fixture.device("tablet", of: "ann")

            for _ in 0..<3 {
                for id in ["message:1:1", "message:1:2"] { try await fixture.notify(["ann", "ann"], id: id) }
                try await fixture.run()
            }

            let tokens = fixture.provider.sent.map(\.token).sorted()
            #expect(tokens == ["ann-phone", "ann-phone", "ann-tablet", "ann-tablet"])
            #expect(try await fixture.outcomes(of: "ann") == ["sent", "sent", "sent", "sent"])
        }
    }

    @Test("The withheld users of a request are logged once, and not notified")
    func withheld() async throws {
        try await withPipeline { fixture in
            try await fixture.device("phone", of: "ann")
            try await fixture.device("phone", of: "bob")

            for _ in 0..<2 {
                try await fixture.notify(["ann"], id: "message:1:1") { request in
                    request.withheld = [.init(reason: "conversation_muted", userIds: ["bob", "cat"])]
                }
            }
            try await fixture.notify([], id: "message:1:2") { request in
                request.withheld = [.init(reason: "conversation_muted", userIds: ["bob"])]
            }
            try await fixture.run()

            #expect(fixture.provider.sent.map(\.token) == ["ann-phone"])
            #expect(try await fixture.outcomes(of: "ann") == ["sent"])
            let muted = try await fixture.outcomes(of: "bob")
            #expect(muted == ["withheld conversation_muted", "withheld conversation_muted"])
            #expect(try await fixture.outcomes(of: "cat") == ["withheld conversation_muted"])
            #expect(try await fixture.count("fanouts") == 0)
        }
    }

    @Test("A request with more than 1,000 withheld users is rejected")
    func tooManyWithheld() async throws {
        try await withPipeline { fixture in
            let error = await #expect(throws: APIError.self) {
                try await fixture.notify([]) { request in
                    request.withheld = [.init(reason: "conversation_muted", userIds: (0...1_000).map { "\($0)" })]
                }
            }
            #expect(error?.field == "notifications[0].withheld")
            let logged = try await fixture.count("log")
            #expect(logged == 0)
        }
    }

    @Test("Each device counts its own badge, and a recipient's number overrides the count")
    func badgeNumbers() async throws {
        try await withPipeline { fixture in
            let phone = try await fixture.device("phone", of: "ann")
            try await fixture.device("tablet", of: "ann")
            try await fixture.pool.run("UPDATE devices SET badge = 3 WHERE device_key = \(phone)")

            for number in 1...3 { try await fixture.notify(["ann"], "\(number)") { $0.badge = .increment } }
            try await fixture.notify(["ann"], "own") { request in
                request.badge = .increment
                request.recipients[0].badge = .number(9)
            }
            try await fixture.notify(["ann"], "none")
            try await fixture.run()

            func badges(_ token: String) -> [Int?] {
                fixture.provider.sent.filter { $0.token == token }.map(\.message.badge)
            }
            #expect(badges("ann-phone") == [4, 5, 6, 9, nil])
            #expect(badges("ann-tablet") == [1, 2, 3, 9, nil])
            #expect(fixture.provider.titles(to: "ann-phone") == ["1", "2", "3", "own", "none"])
        }
    }

    @Test("A notification to a topic reaches its subscribers in the application")
    func topic() async throws {
        try await withPipeline { fixture in
            for name in ["ann", "bob", "cat"] { try await fixture.device(of: name) }
            try await fixture.pool.run(
                """
                INSERT INTO topic_subscriptions (application_id, topic, user_id)
                VALUES ('acme', 'news', 'ann'), ('acme', 'news', 'bob'), ('acme', 'other', 'cat'), ('else', 'news', 'cat')
                """
            )

            let draft = NotificationDraft(to: .init(topic: "news"), title: "News")
            let sent = try await fixture.pipeline.notifications.send(draft, as: "acme")
            try await fixture.run()

            #expect(Set(fixture.provider.sent.map(\.token)) == ["ann-phone", "bob-phone"])
            let report = try await fixture.pipeline.notifications.show(sent.id, of: "acme")
            #expect(report.state == .done)
            #expect(report.people == 2)
            #expect(report.devices == 2)
            #expect(report.sent == 2)
        }
    }

    @Test("A notification to device IDs reaches those devices of the application")
    func deviceIDs() async throws {
        try await withPipeline { fixture in
            try await fixture.device("phone", of: "ann")
            try await fixture.device("tablet", of: "ann")
            try await fixture.device("phone", of: "bob", token: "else", application: "else")

            let draft = NotificationDraft(to: .init(deviceIds: ["phone", "unknown"]), title: "Hello")
            _ = try await fixture.pipeline.notifications.send(draft, as: "acme")
            try await fixture.run()

            #expect(fixture.provider.sent.map(\.token) == ["ann-phone"])
        }
    }
}

extension PipelineFixture {
    /// Adds users with one device each, who have `broadcaster` as a favourite.
    func addSubscribers(_ count: Int, to broadcaster: String) async throws {
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

    /// Returns how many rows of a table were written, and how many were read.
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
