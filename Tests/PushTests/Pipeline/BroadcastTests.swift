import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport
import Wire

@testable import PushServer

/// Whom a stream that is newly live is told to, and how often.
@Suite struct BroadcastTests {
    @Test func aBroadcastReachesThoseWhoseFavouriteItIs() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.favour("pianist", by: "ann", sound: "whistle")
            try await scene.device(of: "bob")

            try await scene.goLive("Pianist", stream: "s1", in: "RedditSessions")
            try await scene.run()

            let sent = try #require(scene.provider.sent.first)
            #expect(scene.provider.sent.count == 1 && sent.token == "ann-phone")
            #expect(sent.message.title == "u/Pianist is live in r/RedditSessions")
            #expect(sent.message.body == "Live piano" && sent.message.sound == "whistle")
            #expect(sent.message.data["url"]?.text == #""https://example.org/s1""#)
            #expect(try await scene.outcomes(of: "ann") == ["sent"])
            #expect(try await scene.log(of: "bob").isEmpty)
        }
    }

    @Test func aStreamIsToldOnce() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.favour("pianist", by: "ann")

            try await scene.goLive("pianist", stream: "s1")
            try await scene.run()
            try await scene.goLive("pianist", stream: "s1")
            try await scene.run()
            try await scene.goLive("pianist", stream: "s2")
            try await scene.run()

            #expect(scene.provider.sent.count == 2)
        }
    }

    @Test func theCooldownCountsFromWhatWasAcceptedForAnyDevice() async throws {
        try await withPipeline { scene in
            try await scene.device("phone", of: "ann")
            try await scene.device("tablet", of: "ann")
            try await scene.favour("pianist", by: "ann", cooldown: true)

            // Nothing is accepted: there is nothing to cool down from.
            scene.provider.answer { _, _ in .init(.unregistered(since: nil), reason: "Unregistered") }
            try await scene.goLive("pianist", stream: "s1")
            try await scene.run()
            try await scene.device("phone", of: "ann")
            try await scene.device("tablet", of: "ann")
            scene.clock.advance(by: 60)
            scene.provider.answer { _, target in
                target.token == "ann-phone" ? .init(.refused, reason: "BadTopic") : nil
            }
            try await scene.goLive("pianist", stream: "s2")
            try await scene.run()
            scene.clock.advance(by: 14_399)
            try await scene.goLive("pianist", stream: "s3")
            try await scene.run()
            scene.clock.advance(by: 1)
            try await scene.goLive("pianist", stream: "s4")
            try await scene.run()

            #expect(
                try await scene.outcomes(of: "ann") == [
                    "failed Unregistered", "failed Unregistered", "failed BadTopic", "sent", "withheld cooldown",
                    "failed BadTopic", "sent",
                ]
            )
        }
    }

    /// The second is decided while the first is still on its way, and finds out when it is its turn.
    @Test func theCooldownHoldsForWhatWasDecidedBeforeTheOtherWasAccepted() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.favour("pianist", by: "ann", cooldown: true)

            scene.provider.silence { _ in true }
            try await scene.goLive("pianist", stream: "s1")
            try await scene.decide()
            #expect(try await scene.pipeline.sending.claim() == 1)
            try await eventually { scene.provider.waiting == 1 }
            try await scene.goLive("pianist", stream: "s2")
            try await scene.decide()
            scene.provider.speak()
            try await scene.run()

            #expect(scene.provider.sent.count == 1)
            #expect(try await scene.outcomes(of: "ann") == ["sent", "withheld cooldown"])
        }
    }
}
