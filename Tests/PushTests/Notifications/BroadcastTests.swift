import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport
import Wire

@testable import PushServer

@Suite("Broadcast notifications") struct BroadcastTests {
    @Test("Users who have the broadcaster as a favourite are notified")
    func favourites() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.addFavourite("pianist", by: "ann", sound: "whistle")
            try await fixture.device(of: "bob")

            try await fixture.goLive("Pianist", stream: "s1", in: "RedditSessions")
            try await fixture.run()

            let sent = try #require(fixture.provider.sent.first)
            #expect(fixture.provider.sent.count == 1)
            #expect(sent.token == "ann-phone")
            #expect(sent.message.title == "u/Pianist is live in r/RedditSessions")
            #expect(sent.message.body == "Live piano")
            #expect(sent.message.sound == "whistle")
            #expect(sent.message.data["url"]?.text == #""https://example.org/s1""#)
            #expect(try await fixture.outcomes(of: "ann") == ["sent"])
            #expect(try await fixture.log(of: "bob").isEmpty)
        }
    }

    @Test("A stream notifies a user once")
    func oncePerStream() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.addFavourite("pianist", by: "ann")

            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.run()
            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.run()
            try await fixture.goLive("pianist", stream: "s2")
            try await fixture.run()

            #expect(fixture.provider.sent.count == 2)
        }
    }

    @Test("The cooldown starts when a device accepts a notification, and lasts four hours")
    func cooldown() async throws {
        try await withPipeline { fixture in
            try await fixture.device("phone", of: "ann")
            try await fixture.device("tablet", of: "ann")
            try await fixture.addFavourite("pianist", by: "ann", cooldown: true)

            // No device accepts the notification, so no cooldown starts.
            fixture.provider.reply { _, _ in .init(.unregistered(since: nil), reason: "Unregistered") }
            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.run()
            try await fixture.device("phone", of: "ann")
            try await fixture.device("tablet", of: "ann")
            fixture.clock.advance(by: 60)
            fixture.provider.reply { _, target in
                target.token == "ann-phone" ? .init(.refused, reason: "BadTopic") : nil
            }
            try await fixture.goLive("pianist", stream: "s2")
            try await fixture.run()
            fixture.clock.advance(by: 14_399)
            try await fixture.goLive("pianist", stream: "s3")
            try await fixture.run()
            fixture.clock.advance(by: 1)
            try await fixture.goLive("pianist", stream: "s4")
            try await fixture.run()

            #expect(
                try await fixture.outcomes(of: "ann") == [
                    "failed Unregistered", "failed Unregistered", "failed BadTopic", "sent", "withheld cooldown",
                    "failed BadTopic", "sent",
                ]
            )
        }
    }

    /// The second notification is decided while the first is in flight, so the cooldown is checked again at the claim.
    @Test("A cooldown that starts after the decision withholds the queued notification")
    func cooldownWhileInFlight() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.addFavourite("pianist", by: "ann", cooldown: true)

            fixture.provider.suspend { _ in true }
            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.decide()
            #expect(try await fixture.pipeline.sender.claim() == 1)
            try await eventually { fixture.provider.waiting == 1 }
            try await fixture.goLive("pianist", stream: "s2")
            try await fixture.decide()
            fixture.provider.resume()
            try await fixture.run()

            #expect(fixture.provider.sent.count == 1)
            #expect(try await fixture.outcomes(of: "ann") == ["sent", "withheld cooldown"])
        }
    }
}
