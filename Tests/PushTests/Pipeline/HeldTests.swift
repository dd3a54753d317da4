import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing

@testable import PushServer

@Suite struct HeldTests {
    /// Half past noon in London, where it is quiet from noon to one.
    private static let lunch = date("2026-11-21T12:30:00Z")

    private static func withAnnAtLunch(_ body: (PipelineScene) async throws -> Void) async throws {
        try await withPipeline(at: lunch) { scene in
            try await scene.device(of: "ann")
            try await scene.quiet("ann", from: 12 * 60, to: 13 * 60, in: "Europe/London")
            try await body(scene)
        }
    }

    @Test func ofEachThingTheNewestIsSentWhenTheQuietHoursEnd() async throws {
        try await Self.withAnnAtLunch { scene in
            for (title, about) in [("first", "walks"), ("talk", "talks"), ("second", "walks")] {
                try await scene.notify(["ann"], title) { request in
                    request.about = about
                    request.badge = .increment
                }
                try await scene.run()
            }
            scene.clock.set(date("2026-11-21T12:59:59Z"))
            try await scene.run()
            #expect(scene.provider.sent.isEmpty)

            scene.clock.set(date("2026-11-21T13:00:00Z"))
            try await scene.run()

            #expect(scene.provider.titles(to: "ann-phone") == ["talk", "second"])
            #expect(scene.provider.sent.map(\.message.badge) == [1, 2])
            #expect(
                try await scene.outcomes(of: "ann") == [
                    "held quiet_hours", "held quiet_hours", "held quiet_hours", "replaced quiet_hours", "sent", "sent",
                ]
            )
            let held = try await scene.log(of: "ann").filter { $0.outcome == .held }
            #expect(held.allSatisfy { $0.until == date("2026-11-21T13:00:00Z") })
        }
    }

    @Test func whatCannotBeDecidedKeepsNothingElseHeld() async throws {
        try await Self.withAnnAtLunch { scene in
            for about in ["walks", "bad", "talks"] { try await scene.notify(["ann"], about) { $0.about = about } }
            try await scene.run()
            let bad = try await scene.pool.one(
                "SELECT notification_key FROM notifications WHERE about = 'bad'",
                as: { try $0.int64("notification_key") }
            )
            try await scene.pool.run(
                "ALTER TABLE queue ADD CONSTRAINT test CHECK (notification_key <> \(unsafe: "\(bad)"))"
            )
            scene.clock.set(date("2026-11-21T13:00:00Z"))
            try await scene.run()

            #expect(Set(scene.provider.titles(to: "ann-phone")) == ["walks", "talks"])

            try await scene.pool.run("ALTER TABLE queue DROP CONSTRAINT test")
            try await scene.run()
            #expect(scene.provider.sent.count == 2)
            scene.clock.advance(by: 61)
            try await scene.run()
            #expect(scene.provider.sent.count == 3)
        }
    }

    @Test func ofThoseDecidedTogetherTheNewestStaysToo() async throws {
        try await Self.withAnnAtLunch { scene in
            for title in ["first", "second", "third"] { try await scene.notify(["ann"], title) { $0.about = "walks" } }
            try await scene.notify(["ann"], "alone")
            try await scene.notify(["ann"], "alone too")
            try await scene.run()

            scene.clock.set(date("2026-11-21T13:00:00Z"))
            try await scene.run()

            #expect(scene.provider.titles(to: "ann-phone") == ["third", "alone", "alone too"])
        }
    }

    @Test func whatIsHeldIsDecidedAnew() async throws {
        try await Self.withAnnAtLunch { scene in
            try await scene.notify(["ann"], "message") { $0.about = "walks" }
            try await scene.notify(["ann"], "like", kind: .like)
            try await scene.run()
            try await scene.pool.run("UPDATE settings SET disabled_kinds = '{like}'")
            try await scene.device("tablet", of: "ann")

            scene.clock.set(date("2026-11-21T13:00:00Z"))
            try await scene.run()

            #expect(scene.provider.sent.map(\.message.title) == ["message", "message"])
            #expect(Set(scene.provider.sent.map(\.token)) == ["ann-phone", "ann-tablet"])
            #expect(try await scene.outcomes(of: "ann").contains("withheld kind_disabled"))
        }
    }

    @Test func quietHoursThatAreTakenBackHoldNothing() async throws {
        try await Self.withAnnAtLunch { scene in
            try await scene.notify(["ann"], "message")
            try await scene.run()
            try await HeldStore(db: scene.pool).release(PipelineScene.user("ann"), at: Self.lunch)
            try await scene.run()
            #expect(try await scene.outcomes(of: "ann") == ["held quiet_hours"])

            try await scene.pool.run("DELETE FROM settings")
            try await HeldStore(db: scene.pool).release(PipelineScene.user("ann"), at: Self.lunch)
            try await scene.run()

            #expect(try await scene.outcomes(of: "ann") == ["held quiet_hours", "sent"])
        }
    }

    @Test func whatIsOfNoUseAtTheirEndIsNotSent() async throws {
        try await Self.withAnnAtLunch { scene in
            try await scene.notify(["ann"]) { $0.ttl = 600 }
            try await scene.run()
            scene.clock.set(date("2026-11-21T13:00:00Z"))
            try await scene.run()

            #expect(scene.provider.sent.isEmpty)
            #expect(try await scene.outcomes(of: "ann") == ["held quiet_hours", "expired quiet_hours"])
        }
    }

    @Test func aNotificationIsNotDoneWhileItIsHeldForSomebody() async throws {
        try await Self.withAnnAtLunch { scene in
            let notifications = scene.pipeline.notifications
            let draft = NotificationDraft(to: .init(userIds: ["ann"]), title: "Hello")
            let id = try await notifications.send(draft, as: "acme").id
            try await scene.run()
            let held = try await notifications.show(id, of: "acme")
            #expect(held.state == .sending && held.held == 1 && held.people == 1)

            _ = try await notifications.cancel(id, of: "acme")
            scene.clock.set(date("2026-11-21T13:00:00Z"))
            try await scene.run()

            #expect(scene.provider.sent.isEmpty)
            #expect(try await scene.outcomes(of: "ann") == ["held quiet_hours", "cancelled"])
            let cancelled = try await notifications.show(id, of: "acme")
            #expect(cancelled.state == .cancelled && cancelled.held == 0 && cancelled.withheld == 1)
        }
    }
}
