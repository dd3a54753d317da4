import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing

@testable import PushServer

@Suite("Held notifications") struct HeldTests {
    /// Half past noon in London, within the quiet hours from noon to one.
    private static let lunch = date("2026-11-21T12:30:00Z")

    private static func withQuietHours(_ body: (PipelineFixture) async throws -> Void) async throws {
        try await withPipeline(at: lunch) { fixture in
            try await fixture.device(of: "ann")
            try await fixture.setQuietHours("ann", from: 12 * 60, to: 13 * 60, in: "Europe/London")
            try await body(fixture)
        }
    }

    @Test("After quiet hours, only the newest notification of each subject is sent")
    func newest() async throws {
        try await Self.withQuietHours { fixture in
            for (title, about) in [("first", "walks"), ("talk", "talks"), ("second", "walks")] {
                try await fixture.notify(["ann"], title) { request in
                    request.about = about
                    request.badge = .increment
                }
                try await fixture.run()
            }
            fixture.clock.set(date("2026-11-21T12:59:59Z"))
            try await fixture.run()
            #expect(fixture.provider.sent.isEmpty)

            fixture.clock.set(date("2026-11-21T13:00:00Z"))
            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["talk", "second"])
            #expect(fixture.provider.sent.map(\.message.badge) == [1, 2])
            #expect(
                try await fixture.outcomes(of: "ann") == [
                    "held quiet_hours", "held quiet_hours", "held quiet_hours", "replaced quiet_hours", "sent", "sent",
                ]
            )
            let held = try await fixture.log(of: "ann").filter { $0.outcome == .held }
            #expect(held.allSatisfy { $0.until == date("2026-11-21T13:00:00Z") })
        }
    }

    @Test("A held notification that cannot be queued delays no other, and is retried after a minute")
    func failingRow() async throws {
        try await Self.withQuietHours { fixture in
            for about in ["walks", "bad", "talks"] { try await fixture.notify(["ann"], about) { $0.about = about } }
            try await fixture.run()
            let bad = try await fixture.pool.one(
                "SELECT notification_key FROM notifications WHERE about = 'bad'",
                as: { try $0.int64("notification_key") }
            )
            try await fixture.pool.run(
                "ALTER TABLE queue ADD CONSTRAINT test CHECK (notification_key <> \(unsafe: "\(bad)"))"
            )
            fixture.clock.set(date("2026-11-21T13:00:00Z"))
            try await fixture.run()

            #expect(Set(fixture.provider.titles(to: "ann-phone")) == ["walks", "talks"])

            try await fixture.pool.run("ALTER TABLE queue DROP CONSTRAINT test")
            try await fixture.run()
            #expect(fixture.provider.sent.count == 2)
            fixture.clock.advance(by: 61)
            try await fixture.run()
            #expect(fixture.provider.sent.count == 3)
        }
    }

    @Test("Notifications without a subject do not replace each other")
    func withoutSubject() async throws {
        try await Self.withQuietHours { fixture in
            for title in ["first", "second", "third"] {
                try await fixture.notify(["ann"], title) { $0.about = "walks" }
            }
            try await fixture.notify(["ann"], "alone")
            try await fixture.notify(["ann"], "alone too")
            try await fixture.run()

            fixture.clock.set(date("2026-11-21T13:00:00Z"))
            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["third", "alone", "alone too"])
        }
    }

    @Test("The settings and devices at the end of quiet hours decide")
    func decidedAgain() async throws {
        try await Self.withQuietHours { fixture in
            try await fixture.notify(["ann"], "message") { $0.about = "walks" }
            try await fixture.notify(["ann"], "like", kind: .like)
            try await fixture.run()
            try await fixture.pool.run("UPDATE settings SET disabled_kinds = '{like}'")
            try await fixture.device("tablet", of: "ann")

            fixture.clock.set(date("2026-11-21T13:00:00Z"))
            try await fixture.run()

            #expect(fixture.provider.sent.map(\.message.title) == ["message", "message"])
            #expect(Set(fixture.provider.sent.map(\.token)) == ["ann-phone", "ann-tablet"])
            #expect(try await fixture.outcomes(of: "ann").contains("withheld kind_disabled"))
        }
    }

    @Test("Without quiet hours, held notifications are released")
    func quietHoursRemoved() async throws {
        try await Self.withQuietHours { fixture in
            try await fixture.notify(["ann"], "message")
            try await fixture.run()
            try await HeldStore(db: fixture.pool).release(PipelineFixture.user("ann"), at: Self.lunch)
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "ann") == ["held quiet_hours"])

            try await fixture.pool.run("DELETE FROM settings")
            try await HeldStore(db: fixture.pool).release(PipelineFixture.user("ann"), at: Self.lunch)
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "ann") == ["held quiet_hours", "sent"])
        }
    }

    @Test("A notification that expires during quiet hours is not sent")
    func expiresWhileHeld() async throws {
        try await Self.withQuietHours { fixture in
            try await fixture.notify(["ann"]) { $0.ttl = 600 }
            try await fixture.run()
            fixture.clock.set(date("2026-11-21T13:00:00Z"))
            try await fixture.run()

            #expect(fixture.provider.sent.isEmpty)
            #expect(try await fixture.outcomes(of: "ann") == ["held quiet_hours", "expired quiet_hours"])
        }
    }

    @Test("A held notification is reported as sending, and can be cancelled")
    func reportWhileHeld() async throws {
        try await Self.withQuietHours { fixture in
            let notifications = fixture.pipeline.notifications
            let draft = NotificationDraft(to: .init(userIds: ["ann"]), title: "Hello")
            let id = try await notifications.send(draft, as: "acme").id
            try await fixture.run()
            let held = try await notifications.show(id, of: "acme")
            #expect(held.state == .sending)
            #expect(held.held == 1)
            #expect(held.people == 1)

            _ = try await notifications.cancel(id, of: "acme")
            fixture.clock.set(date("2026-11-21T13:00:00Z"))
            try await fixture.run()

            #expect(fixture.provider.sent.isEmpty)
            #expect(try await fixture.outcomes(of: "ann") == ["held quiet_hours", "cancelled"])
            let cancelled = try await notifications.show(id, of: "acme")
            #expect(cancelled.state == .cancelled)
            #expect(cancelled.held == 0)
            #expect(cancelled.withheld == 1)
        }
    }
}
