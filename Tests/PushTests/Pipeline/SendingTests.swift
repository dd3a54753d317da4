import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport
import Wire

@testable import PushServer

@Suite struct SendingTests {
    @Test("A title for Android goes beside the title of all platforms")
    func androidTitle() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.notify(["ann"], "Walks") { $0.androidTitle = "From the hills" }
            try await scene.run()

            let sent = try #require(scene.provider.sent.first?.message)
            #expect(sent.title == "Walks")
            #expect(sent.androidTitle == "From the hills")
        }
    }

    @Test func oneThatIsSilentOrBusyHoldsUpNobodyElse() async throws {
        try await withPipeline { scene in
            for name in ["silent", "busy", "bad", "good"] { try await scene.device(of: name) }
            try await scene.device(of: "droid", .gcm)
            scene.provider.silence { $0.token == "silent-phone" }
            scene.provider.answer { _, target in
                switch target.token {
                case "busy-phone": PushReply(.targetBusy, status: 429, retryAfter: .seconds(60))
                case "bad-phone": PushReply(.wrongApp, status: 400, reason: "DeviceTokenNotForTopic")
                default: nil
                }
            }
            for number in 1...2 { try await scene.notify(["silent", "busy", "bad", "good", "droid"], "\(number)") }

            for _ in 1...4 {
                try await scene.decide()
                _ = try await scene.pipeline.sending.claim()
                try await eventually { scene.pipeline.sending.underWay.unanswered == 1 }
                _ = try await scene.pipeline.sending.settle()
            }

            #expect(try await scene.outcomes(of: "good") == ["sent", "sent"])
            #expect(try await scene.outcomes(of: "droid") == ["sent", "sent"])
            #expect(try await scene.outcomes(of: "bad") == ["failed DeviceTokenNotForTopic", "failed device_gone"])
            #expect(try await scene.outcomes(of: "busy") == ["waiting status 429", "waiting"])
            #expect(try await scene.outcomes(of: "silent") == ["waiting", "waiting"])

            scene.provider.speak()
            scene.provider.answer { _, _ in nil }
            scene.clock.advance(by: 61)
            try await scene.run()
            #expect(try await scene.outcomes(of: "busy") == ["sent", "sent"])
            #expect(try await scene.outcomes(of: "silent") == ["sent", "sent"])
        }
    }

    @Test func aTokenThatIsGoneIsForgotten() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            let noon = PipelineScene.noon
            scene.provider.answer { _, _ in PushReply(.unregistered(since: noon), reason: "Unregistered") }
            try await scene.notify(["ann"])
            try await scene.run()

            #expect(try await scene.count("devices") == 0)
            #expect(try await scene.outcomes(of: "ann") == ["failed Unregistered"])
        }
    }

    @Test func aTokenThatWasRegisteredSinceIsKept() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            let before = PipelineScene.noon.addingTimeInterval(-1)
            scene.provider.answer { _, _ in PushReply(.unregistered(since: before), reason: "Unregistered") }
            try await scene.notify(["ann"])
            for _ in 1...5 {
                try await scene.run()
                scene.clock.advance(by: 60)
            }

            #expect(try await scene.count("devices") == 1)
            #expect(scene.provider.sent.count == 3)
            #expect(try await scene.outcomes(of: "ann") == ["failed Unregistered"])
        }
    }

    @Test func aTokenThatChangedWhileItWasSentToIsKept() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            scene.provider.silence { _ in true }
            scene.provider.answer { _, _ in PushReply(.unregistered(since: nil), reason: "UNREGISTERED") }
            try await scene.notify(["ann"])
            try await scene.decide()
            _ = try await scene.pipeline.sending.claim()
            try await eventually { scene.provider.waiting == 1 }
            try await scene.pool.run("UPDATE devices SET token = 'new', token_hash = sha256('new')")
            scene.provider.speak()
            try await scene.run()

            #expect(try await scene.count("devices") == 1)
        }
    }

    @Test func aTokenOfTheOtherEnvironmentIsFoundOutAndRemembered() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann", .iosProduction, token: "developers")
            scene.provider.answer { _, target in
                target == .apns(token: "developers", environment: .production)
                    ? PushReply(.wrongEnvironment, status: 400, reason: "BadDeviceToken") : nil
            }
            try await scene.notify(["ann"], "1")
            try await scene.run()
            try await scene.notify(["ann"], "2")
            try await scene.run()

            #expect(
                scene.provider.sent.map(\.target) == [
                    .apns(token: "developers", environment: .production),
                    .apns(token: "developers", environment: .sandbox),
                    .apns(token: "developers", environment: .sandbox),
                ]
            )
            #expect(try await scene.outcomes(of: "ann") == ["sent", "sent"])
            #expect(try await scene.log(of: "ann").first?.platform == .iosSandbox)
        }
    }

    @Test func aTokenOfNeitherEnvironmentIsTriedTwiceAndSwitchedOff() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            scene.provider.answer { _, _ in PushReply(.wrongEnvironment, status: 400, reason: "BadDeviceToken") }
            try await scene.notify(["ann"])
            try await scene.run()
            try await scene.notify(["ann"])
            try await scene.run()

            #expect(scene.provider.sent.count == 2)
            #expect(try await scene.outcomes(of: "ann") == ["failed BadDeviceToken", "withheld no_device"])
            let reason = try await scene.pool.one(
                "SELECT disabled_reason FROM devices",
                as: { try $0.optionalString("disabled_reason") }
            )
            #expect(reason == "bad_token")
        }
    }

    @Test func aPushServiceThatIsDownKeepsItsQueueAndIsComeBackToGently() async throws {
        try await withPipeline { scene in
            let names = (1...100).map { "user-\($0)" }
            for name in names { try await scene.device(of: name) }
            try await scene.device(of: "droid", .gcm)
            scene.provider.answer { _, target in
                if case .fcm = target { nil } else { PushReply(.providerBusy, status: 503, reason: "Shutdown") }
            }
            try await scene.notify(names + ["droid"])
            try await scene.run()

            #expect(try await scene.outcomes(of: "droid") == ["sent"])
            #expect(try await scene.count("queue") == 100)
            let asked = scene.provider.sent.count
            try await scene.run(scene.another())
            #expect(scene.provider.sent.count == asked, "the other instance asked all the same")

            // One at a time tries whether it is well.
            scene.clock.advance(by: 61)
            try await scene.run()
            try await scene.run(scene.another())
            #expect(scene.provider.sent.count == asked + 1)

            scene.provider.answer { _, _ in nil }
            scene.clock.advance(by: 61)
            #expect(try await scene.pipeline.sending.claim() == 1)
            try await eventually { scene.pipeline.sending.underWay.unanswered == 0 }
            _ = try await scene.pipeline.sending.settle()
            #expect(try await scene.pipeline.sending.claim() == 4)
            scene.clock.advance(by: 3)
            try await eventually { scene.pipeline.sending.underWay.unanswered == 0 }
            _ = try await scene.pipeline.sending.settle()
            #expect(try await scene.pipeline.sending.claim() == 32)
            try await scene.run()

            #expect(try await scene.count("queue") == 0)
            #expect(Set(scene.provider.sent.map(\.token)).count == 101)
        }
    }

    @Test func aTrialIsNotSpentOnWhatIsNotSent() async throws {
        try await withPipeline { scene in
            let names = (1...20).map { "user-\($0)" }
            for name in names { try await scene.device(of: name) }
            scene.provider.answer { _, _ in PushReply(.providerBusy, status: 503, reason: "Shutdown") }
            try await scene.notify(names)
            try await scene.run()
            #expect(try await scene.pipeline.oversight.report().lanes.first?.circuit?.isOpen == true)

            // All but one are gone when it is well again, so that most of what is due is not sent.
            try await scene.pool.run("DELETE FROM devices WHERE user_id <> 'user-20'")
            scene.provider.answer { _, _ in nil }
            scene.clock.advance(by: 61)
            try await scene.run()

            #expect(try await scene.outcomes(of: "user-20") == ["sent"])
            #expect(try await scene.count("queue") == 0)
        }
    }

    @Test func withoutCredentialsEverythingWaitsForThem() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            scene.provider.takeCredentialsAway()
            for _ in 1...3 {
                try await scene.notify(["ann"])
                try await scene.run()
                scene.clock.advance(by: 61)
            }
            let report = try await scene.pipeline.oversight.report()
            let lane = try #require(report.lanes.first)
            #expect(lane.waiting == 3 && lane.service == "apns-production")
            #expect(lane.circuit?.isOpen == true && lane.circuit?.reason == "no_credentials")

            scene.provider.giveCredentialsBack()
            try await scene.run()

            #expect(try await scene.outcomes(of: "ann") == ["sent", "sent", "sent"])
        }
    }

    @Test func whatFailsTooOftenWaitsForTheOperator() async throws {
        try await withPipeline({ $0.maximumAttempts = 3 }) { scene in
            for name in ["ann", "bob"] { try await scene.device(of: name) }
            scene.provider.answer { _, target in
                target.token == "ann-phone" ? PushReply(.providerBusy, status: 500, reason: "Oops") : nil
            }
            try await scene.notify(["ann"])
            for _ in 1...6 {
                // Others get through: it is not the push service.
                try await scene.notify(["bob"])
                try await scene.run()
                scene.clock.advance(by: 700)
            }

            #expect(try await scene.outcomes(of: "ann") == ["failed Oops"])
            #expect(scene.provider.titles(to: "ann-phone").count == 3)
            #expect(try await scene.pipeline.oversight.failures(before: nil, limit: 10).things.map(\.userId) == ["ann"])
        }
    }

    @Test func aBrowserIsItsPushServices() async throws {
        try await withPipeline { scene in
            try await scene.device("a", of: "ann", .web, token: "https://Push.example.org/send/1")
            try await scene.device("b", of: "ann", .web, token: "https://other.example.org:8443/2?x=1")
            scene.provider.answer { _, target in
                target.token.contains("Push.example") ? PushReply(.misconfigured, reason: "no") : nil
            }
            try await scene.notify(["ann"])
            try await scene.run()

            let lanes = try await scene.pipeline.oversight.report().lanes
            #expect(lanes.map(\.service) == ["https://push.example.org"])
            #expect(scene.provider.sent.contains { $0.token == "https://other.example.org:8443/2?x=1" })
        }
    }

    /// As some may have been registered before hosts had a limit.
    @Test func aHostLongerThanAnIndexTakesIsSentTo() async throws {
        try await withPipeline { scene in
            // Not of one letter, which would be compressed.
            let host = (0..<500).map { String($0 &* 2_654_435_761 % 99_991_111, radix: 36) }.joined()
            try await scene.device(of: "ann", .web, token: "https://\(host)/1")
            try await scene.notify(["ann"])
            try await scene.run()
            #expect(try await scene.outcomes(of: "ann") == ["sent"])
        }
    }
}
