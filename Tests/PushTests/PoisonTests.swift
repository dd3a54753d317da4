import Foundation
import Postgres
import PushAPI
import Testing
import TestSupport
import Wire

@testable import PushServer

/// Each test places an unreadable row between readable rows.
@Suite("Unreadable rows of push") struct PoisonTests {
    enum Damage: CaseIterable, Sendable { case kind, audience, recipients }

    @Test("An unreadable notification delays no other, of the same or another user", arguments: Damage.allCases)
    func fanout(damage: Damage) async throws {
        try await withPipeline { fixture in
            for name in ["ann", "bob"] { try await fixture.device(of: name) }
            // All have one subject, so that they are in one partition.
            for title in ["first", "bad", "last"] { try await fixture.notify(["ann"], title) { $0.about = "walks" } }
            try await fixture.notify(["bob"], "other") { $0.about = "talks" }
            try await fixture.damage("bad", damage)

            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["first", "last"])
            #expect(fixture.provider.titles(to: "bob-phone") == ["other"])
            try await PoisonTest(.fanout, in: fixture.database, now: fixture.clock.read).check {
                try await fixture.run()
            }
        }
    }

    @Test("An unreadable queued notification causes no retry of others")
    func queued() async throws {
        try await withPipeline { fixture in
            for name in ["ann", "bob", "cat"] {
                try await fixture.device(of: name)
                try await fixture.notify([name], name) { $0.data = .object(["a": .integer(1)]) }
            }
            // The second notification of the same device does not wait for the unreadable one.
            try await fixture.notify(["bob"], "second")
            try await fixture.decide()
            try await fixture.pool.run("UPDATE notifications SET data = '{' WHERE title = 'bob'")

            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["ann"])
            #expect(fixture.provider.titles(to: "bob-phone") == ["second"])
            #expect(fixture.provider.titles(to: "cat-phone") == ["cat"])
            let attempts = try await fixture.pool.all("SELECT attempts FROM log WHERE outcome = 'sent'") {
                try $0.int("attempts")
            }
            #expect(attempts == [1, 1, 1])
            try await PoisonTest(.queued, in: fixture.database, now: fixture.clock.read).check {
                try await fixture.run()
            }
            #expect(try await fixture.outcomes(of: "bob").sorted() == ["failed unreadable", "sent"])
        }
    }

    @Test("A result that cannot be written delays no other, and its row is set aside")
    func result() async throws {
        try await withPipeline { fixture in
            for name in ["ann", "bob", "cat"] {
                try await fixture.device(of: name)
                try await fixture.notify([name], name)
            }
            try await fixture.pool.run("ALTER TABLE log ADD CONSTRAINT poison CHECK (user_id <> 'bob')")

            try await fixture.run()

            #expect(Set(fixture.provider.sent.map(\.token)) == ["ann-phone", "bob-phone", "cat-phone"])
            #expect(try await fixture.outcomes(of: "ann") == ["sent"])
            #expect(try await fixture.outcomes(of: "cat") == ["sent"])
            #expect(fixture.pipeline.sender.inFlight.count == 0)
            let noted = try await fixture.pool.all("SELECT kind, key[2] AS user_id FROM set_aside_rows") { row in
                [try row.string("kind"), try row.string("user_id")]
            }
            #expect(noted == [["queued_notification", "bob"]])
            let waiting = try await fixture.pool.all("SELECT user_id FROM queue WHERE leased_until IS NULL") {
                try $0.string("user_id")
            }
            #expect(waiting == ["bob"])
        }
    }

    @Test("An unreadable held notification delays no other after quiet hours")
    func held() async throws {
        try await withPipeline(at: date("2026-11-21T12:30:00Z")) { fixture in
            for name in ["ann", "bob", "cat"] {
                try await fixture.device(of: name)
                try await fixture.setQuietHours(name, from: 12 * 60, to: 13 * 60, in: "Europe/London")
                try await fixture.notify([name], name)
            }
            try await fixture.run()
            #expect(fixture.provider.sent.isEmpty)
            try await fixture.pool.run("UPDATE held SET recipient = '{' WHERE user_id = 'bob'")
            fixture.clock.set(date("2026-11-21T13:00:00Z"))

            try await fixture.run()

            #expect(Set(fixture.provider.sent.map(\.token)) == ["ann-phone", "cat-phone"])
            try await PoisonTest(.held, in: fixture.database, now: fixture.clock.read).check { try await fixture.run() }
        }
    }
}

extension PipelineFixture {
    /// Gives the notification with a title a value of a later release, or malformed JSON.
    fileprivate func damage(_ title: String, _ damage: PoisonTests.Damage) async throws {
        let statements =
            switch damage {
            case .kind:
                [
                    "ALTER TABLE notifications DROP CONSTRAINT notifications_kind_known",
                    "UPDATE notifications SET kind = 'future' WHERE title = '\(title)'",
                ]
            case .audience:
                [
                    "ALTER TABLE fanouts DROP CONSTRAINT fanouts_audience_known",
                    "UPDATE fanouts SET audience = 'future' \(Self.of(title))",
                ]
            case .recipients: ["UPDATE fanouts SET audience_value = '{' \(Self.of(title))"]
            }
        for statement in statements { try await pool.run(PostgresQuery(sql: statement)) }
    }

    private static func of(_ title: String) -> String {
        "WHERE notification_key = (SELECT notification_key FROM notifications WHERE title = '\(title)')"
    }
}
