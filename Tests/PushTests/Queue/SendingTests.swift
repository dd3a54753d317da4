import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport
import Wire

@testable import PushServer

@Suite("Sending") struct SendingTests {
    @Test("A notification has its title for Android beside the general title")
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

    @Test("A silent, busy or invalid device does not delay other devices")
    func slowDevice() async throws {
        try await withPipeline { fixture in
            for name in ["silent", "busy", "bad", "good"] { try await fixture.device(of: name) }
            try await fixture.device(of: "droid", .gcm)
            fixture.provider.suspend { $0.token == "silent-phone" }
            fixture.provider.reply { _, target in
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
            fixture.provider.reply { _, _ in nil }
            fixture.clock.advance(by: 61)
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "busy") == ["sent", "sent"])
            #expect(try await fixture.outcomes(of: "silent") == ["sent", "sent"])
        }
    }

    @Test("An unregistered device is removed")
    func unregisteredToken() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            let noon = PipelineFixture.noon
            fixture.provider.reply { _, _ in PushReply(.unregistered(since: noon), reason: "Unregistered") }
            try await fixture.notify(["ann"])
            try await fixture.run()

            #expect(try await fixture.count("devices") == 0)
            #expect(try await fixture.outcomes(of: "ann") == ["failed Unregistered"])
        }
    }

    @Test("A device that registered after the provider's date is kept")
    func registeredSince() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            let before = PipelineFixture.noon.addingTimeInterval(-1)
            fixture.provider.reply { _, _ in PushReply(.unregistered(since: before), reason: "Unregistered") }
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

    @Test("A device whose token changes during a send is kept")
    func changedWhileSending() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.suspend { _ in true }
            fixture.provider.reply { _, _ in PushReply(.unregistered(since: nil), reason: "UNREGISTERED") }
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

    @Test("A push message whose token belongs to the other APNs environment is sent there from then on")
    func otherEnvironment() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann", .iosProduction, token: "developers")
            fixture.provider.reply { _, target in
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

    @Test("A token that is invalid in both environments disables the device")
    func badToken() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.reply { _, _ in PushReply(.wrongEnvironment, status: 400, reason: "BadDeviceToken") }
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

    @Test("An open circuit stops all instances, and a successful probe closes it")
    func circuit() async throws {
        try await withPipeline { fixture in
            let names = (1...100).map { "user-\($0)" }
            for name in names { try await fixture.device(of: name) }
            try await fixture.device(of: "droid", .gcm)
            fixture.provider.reply { _, target in
                if case .fcm = target { nil } else { PushReply(.providerBusy, status: 503, reason: "Shutdown") }
            }
            try await fixture.notify(names + ["droid"])
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "droid") == ["sent"])
            #expect(try await fixture.count("queue") == 100)
            let sentCount = fixture.provider.sent.count
            try await fixture.run(fixture.anotherInstance())
            #expect(fixture.provider.sent.count == sentCount, "the other instance sent despite the open circuit")

            // After the pause, one notification probes the provider.
            fixture.clock.advance(by: 61)
            try await fixture.run()
            try await fixture.run(fixture.anotherInstance())
            #expect(fixture.provider.sent.count == sentCount + 1)

            fixture.provider.reply { _, _ in nil }
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

    @Test("An entry that is not sent does not use up the probe")
    func unsentProbe() async throws {
        try await withPipeline { fixture in
            let names = (1...20).map { "user-\($0)" }
            for name in names { try await fixture.device(of: name) }
            fixture.provider.reply { _, _ in PushReply(.providerBusy, status: 503, reason: "Shutdown") }
            try await fixture.notify(names)
            try await fixture.run()
            #expect(try await fixture.pipeline.queueAdmin.report().queues.first?.circuit?.isOpen == true)

            // All devices but one are gone when the provider recovers, so most entries are not sent.
            try await fixture.pool.run("DELETE FROM devices WHERE user_id <> 'user-20'")
            fixture.provider.reply { _, _ in nil }
            fixture.clock.advance(by: 61)
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "user-20") == ["sent"])
            #expect(try await fixture.count("queue") == 0)
        }
    }

    @Test("Without provider credentials, notifications wait in the queue")
    func missingCredentials() async throws {
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
            #expect(queue.waiting == 3)
            #expect(queue.service == "apns-production")
            #expect(queue.circuit?.isOpen == true)
            #expect(queue.circuit?.reason == "no_credentials")

            fixture.provider.restoreCredentials()
            try await fixture.run()

            #expect(try await fixture.outcomes(of: "ann") == ["sent", "sent", "sent"])
        }
    }

    @Test("A notification fails after its last attempt, while other devices receive theirs")
    func attemptsExhausted() async throws {
        try await withPipeline({ $0.maximumAttempts = 3 }) { fixture in
            for name in ["ann", "bob"] { try await fixture.device(of: name) }
            fixture.provider.reply { _, target in
                target.token == "ann-phone" ? PushReply(.providerBusy, status: 500, reason: "Oops") : nil
            }
            try await fixture.notify(["ann"])
            for _ in 1...6 {
                // The other device succeeds, so the circuit stays closed.
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

    @Test("Each origin of browser endpoints has its own queue")
    func browserOrigin() async throws {
        try await withPipeline { fixture in
            try await fixture.device("a", of: "ann", .web, token: "https://Push.example.org/send/1")
            try await fixture.device("b", of: "ann", .web, token: "https://other.example.org:8443/2?x=1")
            fixture.provider.reply { _, target in
                target.token.contains("Push.example") ? PushReply(.misconfigured, reason: "no") : nil
            }
            try await fixture.notify(["ann"])
            try await fixture.run()

            let queues = try await fixture.pipeline.queueAdmin.report().queues
            #expect(queues.map(\.service) == ["https://push.example.org"])
            #expect(fixture.provider.sent.contains { $0.token == "https://other.example.org:8443/2?x=1" })
        }
    }

    /// Such devices may have been registered before the length of host names was limited.
    @Test("A push message is sent to an endpoint that has a very long host name")
    func longHost() async throws {
        try await withPipeline { fixture in
            // Varied text, which PostgreSQL cannot compress.
            let host = (0..<500).map { String($0 &* 2_654_435_761 % 99_991_111, radix: 36) }.joined()
            try await fixture.device(of: "ann", .web, token: "https://\(host)/1")
            try await fixture.notify(["ann"])
            try await fixture.run()
            #expect(try await fixture.outcomes(of: "ann") == ["sent"])
        }
    }
}
