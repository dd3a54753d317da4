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
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.notify(["ann"], "Walks") { $0.androidTitle = "From the hills" }
            try await fixture.run()

            let sent = try #require(fixture.provider.sent.first?.message)
            #expect(sent.title == "Walks")
            #expect(sent.androidTitle == "From the hills")
        }
    }

    @Test func slowDeviceDelaysNoOther() async throws {
        try await withPipeline { fixture in
            for name in ["silent", "busy", "bad", "good"] { try await fixture.device(of: name) }
            try await fixture.device(of: "droid", .gcm)
            fixture.provider.suspend { $0.token == "silent-phone" }
            fixture.provider.answer { _, target in
                switch target.token {
                case "busy-phone": PushReply(.targetBusy, status: 429, retryAfter: .seconds(60))
                case "bad-phone": PushReply(.wrongApp, status: 400, reason: "DeviceTokenNotForTopic")
                default: nil
                }
            }
            for number in 1...2 { try await fixture.notify(["silent", "busy", "bad", "good", "droid"], "\(number)") }

            for _ in 1...4 {
                try await fixture.decide()
                _ = try await fixture.pipeline.sender.claim()
                try await eventually { fixture.pipeline.sender.inFlight.awaitingResponse == 1 }
                _ = try await fixture.pipeline.sender.writeResults()
            }

            #expect(try await fixture.outcomes(of: "good") == ["sent", "sent"])
            #expect(try await fixture.outcomes(of: "droid") == ["sent", "sent"])
            #expect(try await fixture.outcomes(of: "bad") == ["failed DeviceTokenNotForTopic", "failed device_gone"])
            #expect(try await fixture.outcomes(of: "busy") == ["waiting status 429", "waiting"])
            #expect(try await fixture.outcomes(of: "silent") == ["waiting", "waiting"])

            fixture.provider.resume()
            fixture.provider.answer { _, _ in nil }
            fixture.clock.advance(by: 61)
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "busy") == ["sent", "sent"])
            #expect(try await fixture.outcomes(of: "silent") == ["sent", "sent"])
        }
    }

    @Test func unregisteredToken() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            let noon = PipelineFixture.noon
            fixture.provider.answer { _, _ in PushReply(.unregistered(since: noon), reason: "Unregistered") }
            try await fixture.notify(["ann"])
            try await fixture.run()

            #expect(try await fixture.count("devices") == 0)
            #expect(try await fixture.outcomes(of: "ann") == ["failed Unregistered"])
        }
    }

    @Test func registeredSince() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            let before = PipelineFixture.noon.addingTimeInterval(-1)
            fixture.provider.answer { _, _ in PushReply(.unregistered(since: before), reason: "Unregistered") }
            try await fixture.notify(["ann"])
            for _ in 1...5 {
                try await fixture.run()
                fixture.clock.advance(by: 60)
            }

            #expect(try await fixture.count("devices") == 1)
            #expect(fixture.provider.sent.count == 3)
            #expect(try await fixture.outcomes(of: "ann") == ["failed Unregistered"])
        }
    }

    @Test func changedWhileSending() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.suspend { _ in true }
            fixture.provider.answer { _, _ in PushReply(.unregistered(since: nil), reason: "UNREGISTERED") }
            try await fixture.notify(["ann"])
            try await fixture.decide()
            _ = try await fixture.pipeline.sender.claim()
            try await eventually { fixture.provider.waiting == 1 }
            try await fixture.pool.run("UPDATE devices SET token = 'new', token_hash = sha256('new')")
            fixture.provider.resume()
            try await fixture.run()

            #expect(try await fixture.count("devices") == 1)
        }
    }

    @Test func otherEnvironment() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann", .iosProduction, token: "developers")
            fixture.provider.answer { _, target in
                target == .apns(token: "developers", environment: .production)
                    ? PushReply(.wrongEnvironment, status: 400, reason: "BadDeviceToken") : nil
            }
            try await fixture.notify(["ann"], "1")
            try await fixture.run()
            try await fixture.notify(["ann"], "2")
            try await fixture.run()

            #expect(
                fixture.provider.sent.map(\.target) == [
                    .apns(token: "developers", environment: .production),
                    .apns(token: "developers", environment: .sandbox),
                    .apns(token: "developers", environment: .sandbox),
                ]
            )
            #expect(try await fixture.outcomes(of: "ann") == ["sent", "sent"])
            #expect(try await fixture.log(of: "ann").first?.platform == .iosSandbox)
        }
    }

    @Test func badToken() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.answer { _, _ in PushReply(.wrongEnvironment, status: 400, reason: "BadDeviceToken") }
            try await fixture.notify(["ann"])
            try await fixture.run()
            try await fixture.notify(["ann"])
            try await fixture.run()

            #expect(fixture.provider.sent.count == 2)
            #expect(try await fixture.outcomes(of: "ann") == ["failed BadDeviceToken", "withheld no_device"])
            let reason = try await fixture.pool.one(
                "SELECT disabled_reason FROM devices",
                as: { try $0.optionalString("disabled_reason") }
            )
            #expect(reason == "bad_token")
        }
    }

    @Test func circuit() async throws {
        try await withPipeline { fixture in
            let names = (1...100).map { "user-\($0)" }
            for name in names { try await fixture.device(of: name) }
            try await fixture.device(of: "droid", .gcm)
            fixture.provider.answer { _, target in
                if case .fcm = target { nil } else { PushReply(.providerBusy, status: 503, reason: "Shutdown") }
            }
            try await fixture.notify(names + ["droid"])
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "droid") == ["sent"])
            #expect(try await fixture.count("queue") == 100)
            let asked = fixture.provider.sent.count
            try await fixture.run(fixture.anotherInstance())
            #expect(fixture.provider.sent.count == asked, "the other instance asked all the same")

            // One at a time tries whether it is well.
            fixture.clock.advance(by: 61)
            try await fixture.run()
            try await fixture.run(fixture.anotherInstance())
            #expect(fixture.provider.sent.count == asked + 1)

            fixture.provider.answer { _, _ in nil }
            fixture.clock.advance(by: 61)
            #expect(try await fixture.pipeline.sender.claim() == 1)
            try await eventually { fixture.pipeline.sender.inFlight.awaitingResponse == 0 }
            _ = try await fixture.pipeline.sender.writeResults()
            #expect(try await fixture.pipeline.sender.claim() == 4)
            fixture.clock.advance(by: 3)
            try await eventually { fixture.pipeline.sender.inFlight.awaitingResponse == 0 }
            _ = try await fixture.pipeline.sender.writeResults()
            #expect(try await fixture.pipeline.sender.claim() == 32)
            try await fixture.run()

            #expect(try await fixture.count("queue") == 0)
            #expect(Set(fixture.provider.sent.map(\.token)).count == 101)
        }
    }

    @Test func probeNeedsSend() async throws {
        try await withPipeline { fixture in
            let names = (1...20).map { "user-\($0)" }
            for name in names { try await fixture.device(of: name) }
            fixture.provider.answer { _, _ in PushReply(.providerBusy, status: 503, reason: "Shutdown") }
            try await fixture.notify(names)
            try await fixture.run()
            #expect(try await fixture.pipeline.queueAdmin.report().queues.first?.circuit?.isOpen == true)

            // All but one are gone when it is well again, so that most of what is due is not sent.
            try await fixture.pool.run("DELETE FROM devices WHERE user_id <> 'user-20'")
            fixture.provider.answer { _, _ in nil }
            fixture.clock.advance(by: 61)
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "user-20") == ["sent"])
            #expect(try await fixture.count("queue") == 0)
        }
    }

    @Test func missingCredentials() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.removeCredentials()
            for _ in 1...3 {
                try await fixture.notify(["ann"])
                try await fixture.run()
                fixture.clock.advance(by: 61)
            }
            let report = try await fixture.pipeline.queueAdmin.report()
            let queue = try #require(report.queues.first)
            #expect(queue.waiting == 3 && queue.service == "apns-production")
            #expect(queue.circuit?.isOpen == true && queue.circuit?.reason == "no_credentials")

            fixture.provider.restoreCredentials()
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "ann") == ["sent", "sent", "sent"])
        }
    }

    @Test func attemptsExhausted() async throws {
        try await withPipeline({ $0.maximumAttempts = 3 }) { fixture in
            for name in ["ann", "bob"] { try await fixture.device(of: name) }
            fixture.provider.answer { _, target in
                target.token == "ann-phone" ? PushReply(.providerBusy, status: 500, reason: "Oops") : nil
            }
            try await fixture.notify(["ann"])
            for _ in 1...6 {
                // Others get through: it is not the push service.
                try await fixture.notify(["bob"])
                try await fixture.run()
                fixture.clock.advance(by: 700)
            }

            #expect(try await fixture.outcomes(of: "ann") == ["failed Oops"])
            #expect(fixture.provider.titles(to: "ann-phone").count == 3)
            #expect(
                try await fixture.pipeline.queueAdmin.failures(before: nil, limit: 10).items.map(\.userId) == ["ann"]
            )
        }
    }

    @Test func browserOrigin() async throws {
        try await withPipeline { fixture in
            try await fixture.device("a", of: "ann", .web, token: "https://Push.example.org/send/1")
            try await fixture.device("b", of: "ann", .web, token: "https://other.example.org:8443/2?x=1")
            fixture.provider.answer { _, target in
                target.token.contains("Push.example") ? PushReply(.misconfigured, reason: "no") : nil
            }
            try await fixture.notify(["ann"])
            try await fixture.run()

            let queues = try await fixture.pipeline.queueAdmin.report().queues
            #expect(queues.map(\.service) == ["https://push.example.org"])
            #expect(fixture.provider.sent.contains { $0.token == "https://other.example.org:8443/2?x=1" })
        }
    }

    /// As some may have been registered before hosts had a limit.
    @Test func longHost() async throws {
        try await withPipeline { fixture in
            // Not of one letter, which would be compressed.
            let host = (0..<500).map { String($0 &* 2_654_435_761 % 99_991_111, radix: 36) }.joined()
            try await fixture.device(of: "ann", .web, token: "https://\(host)/1")
            try await fixture.notify(["ann"])
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "ann") == ["sent"])
        }
    }
}
