import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport

@testable import PushServer

@Suite("Send queue") struct QueueTests {
    @Test("A notification ID is accepted once in each application")
    func duplicateRequest() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")

            #expect(try await fixture.notify(["ann"], id: "message:1") == NotificationsAccepted(taken: 1, known: 0))
            #expect(try await fixture.notify(["ann"], id: "message:1") == NotificationsAccepted(taken: 0, known: 1))
            try await fixture.run()
            #expect(try await fixture.notify(["ann"], id: "message:1") == NotificationsAccepted(taken: 0, known: 1))
            let other = try await fixture.notify(["ann"], id: "message:1") { $0.applicationId = "other" }
            try await fixture.run()

            #expect(other.taken == 1)
            #expect(fixture.provider.sent.count == 1)
        }
    }

    @Test("A repeated ID or recipient in one request is sent once")
    func duplicateInOneCall() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            let requests = ["a", "b", "a"].map { id in
                NotificationRequest(
                    id: id,
                    applicationId: PipelineFixture.application,
                    kind: .message,
                    recipients: [.init(userId: "ann"), .init(userId: "ann")],
                    title: id
                )
            }

            let taken = try await fixture.pipeline.intake.accept(requests)
            try await fixture.run()

            #expect(taken == NotificationsAccepted(taken: 2, known: 1))
            #expect(fixture.provider.titles(to: "ann-phone") == ["a", "b"])
        }
    }

    @Test("A device has one notification in flight, in order")
    func oneAtATimePerDevice() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            for number in 1...5 { try await fixture.notify(["ann"], "\(number)") }
            try await fixture.decide()

            #expect(try await fixture.pipeline.sender.claim() == 1)
            #expect(try await fixture.pipeline.sender.claim() == 0)
            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["1", "2", "3", "4", "5"])
        }
    }

    @Test("A retry keeps the order of a device's notifications")
    func retryKeepsOrder() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.reply { message, _ in message.title == "1" ? PushReply(.targetBusy, status: 429) : nil }
            for number in 1...2 { try await fixture.notify(["ann"], "\(number)") }
            try await fixture.run()
            #expect(fixture.provider.titles(to: "ann-phone") == ["1"])

            fixture.provider.reply { _, _ in nil }
            fixture.clock.advance(by: 1)
            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["1", "1", "2"])
        }
    }

    @Test("A notification of a higher priority is sent first")
    func priority() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            for priority in [NotificationPriority.low, .high, .normal] {
                try await fixture.notify(["ann"], priority.rawValue) { $0.priority = priority }
            }
            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["high", "normal", "low"])
            #expect(fixture.provider.sent.map(\.message.priority) == [.high, .normal, .low])
        }
    }

    @Test("A newer notification replaces queued ones with its collapse key")
    func collapse() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.suspend { _ in true }
            try await fixture.notify(["ann"], "sending") { $0.collapseKey = "score" }
            try await fixture.decide()
            #expect(try await fixture.pipeline.sender.claim() == 1)
            try await eventually { fixture.provider.waiting == 1 }

            try await fixture.notify(["ann"], "1:0") { $0.collapseKey = "score" }
            try await fixture.decide()
            // These two are decided in one batch.
            for score in ["2:0", "2:1"] { try await fixture.notify(["ann"], score) { $0.collapseKey = "score" } }
            try await fixture.notify(["ann"], "other") { $0.collapseKey = "else" }
            fixture.provider.resume()
            try await fixture.run()

            #expect(fixture.provider.titles(to: "ann-phone") == ["sending", "2:1", "other"])
            #expect(try await fixture.outcomes(of: "ann").filter { $0 == "replaced" }.count == 2)
            #expect(fixture.provider.sent.map(\.message.collapseKey) == ["score", "score", "else"])
        }
    }

    @Test("A notification that expires in the queue is logged as expired")
    func expiresInQueue() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            fixture.provider.removeCredentials()
            try await fixture.notify(["ann"], "soon over") { $0.ttl = 60 }
            try await fixture.notify(["ann"], "lasting") { $0.ttl = 600 }
            try await fixture.run()

            fixture.clock.advance(by: 60)
            try await fixture.pipeline.maintenance.expire()

            #expect(fixture.provider.sent.isEmpty)
            #expect(try await fixture.outcomes(of: "ann") == ["expired no_credentials", "waiting"])
        }
    }

    @Test("A notification that expires before its claim is not sent")
    func expiredBeforeSending() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.notify(["ann"]) { $0.ttl = 60 }
            try await fixture.decide()
            fixture.clock.advance(by: 60)
            try await fixture.run()

            #expect(fixture.provider.sent.isEmpty)
            #expect(try await fixture.outcomes(of: "ann") == ["expired"])
        }
    }

    @Test("A notification to a removed device fails")
    func removedDevice() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.notify(["ann"])
            try await fixture.decide()
            try await fixture.pool.run("DELETE FROM devices")
            try await fixture.run()

            #expect(fixture.provider.sent.isEmpty)
            #expect(try await fixture.outcomes(of: "ann") == ["failed device_gone"])
        }
    }

    @Test("After a crash, another instance sends again only what was not recorded")
    func crashedInstance() async throws {
        try await withPipeline { fixture in
            for number in 1...20 { try await fixture.device(of: "user-\(number)") }
            try await fixture.notify((1...20).map { "user-\($0)" })
            let (crashed, running) = (
                fixture.anotherInstance { $0.maximumInFlightPerProvider = 8 }, fixture.anotherInstance()
            )
            fixture.provider.suspend { target in ["user-1-phone", "user-2-phone"].contains(target.token) }
            try await fixture.decide()
            #expect(try await crashed.sender.claim() == 8)
            try await eventually { crashed.sender.inFlight.awaitingResponse == 2 }
            let recorded = try await crashed.sender.writeResults()
            #expect(recorded == 6)
            // Two more are accepted, but the instance does not record them.
            fixture.provider.resume()
            try await eventually { crashed.sender.inFlight.awaitingResponse == 0 }

            try await fixture.run(running)
            #expect(fixture.provider.sent.count == 20)
            #expect(fixture.provider.duplicates == 0)
            fixture.clock.advance(by: NotificationSender.lease)
            try await fixture.run(running)

            #expect(Set(fixture.provider.sent.map(\.message.id)).count == 20)
            #expect(fixture.provider.duplicates == 2)
            #expect(try await fixture.count("queue") == 0)
            #expect(try await fixture.count("log") == 20)
        }
    }

    @Test("A notification whose lease is renewed is not claimed by another instance")
    func leaseRenewal() async throws {
        try await withPipeline { fixture in
            try await fixture.device(of: "ann")
            try await fixture.notify(["ann"])
            let other = fixture.anotherInstance()
            fixture.provider.suspend { _ in true }
            try await fixture.decide()
            #expect(try await fixture.pipeline.sender.claim() == 1)
            try await eventually { fixture.provider.waiting == 1 }
            for _ in 1...5 {
                fixture.clock.advance(by: NotificationSender.lease / 2)
                try await fixture.pipeline.sender.renewLeases()
                #expect(try await other.sender.claim() == 0)
            }
            fixture.provider.resume()
            try await fixture.run()

            #expect(fixture.provider.sent.count == 1)
        }
    }

    @Test("Three instances empty one queue without duplicates")
    func sharedQueue() async throws {
        try await withPipeline { fixture in
            let names = (1...300).map { "user-\($0)" }
            for name in names { try await fixture.device(of: name) }
            try await fixture.notify(names)
            try await fixture.decide()
            let instances = [fixture.pipeline, fixture.anotherInstance(), fixture.anotherInstance()]

            try await withThrowingTaskGroup(of: Void.self) { group in
                for instance in instances { group.addTask { try await fixture.run(instance) } }
                try await group.waitForAll()
            }

            #expect(fixture.provider.sent.count == 300)
            #expect(fixture.provider.duplicates == 0)
            #expect(try await fixture.count("queue") == 0)
        }
    }

    /// The background services of both instances decide, claim, send and record concurrently.
    @Test("Two running instances send each notification once, in order for each device")
    func runningInstances() async throws {
        try await withPipeline { fixture in
            let names = (1...200).map { "user-\($0)" }
            for name in names { try await fixture.device(of: name) }
            let instances = [fixture.pipeline, fixture.anotherInstance()]
            try await withRunning(instances.flatMap(\.background)) {
                for number in 1...5 { try await fixture.notify(names, "\(number)") }
                try await eventually(within: .seconds(90)) { fixture.provider.sent.count >= 1_000 }
            }

            #expect(fixture.provider.sent.count == 1_000)
            #expect(fixture.provider.duplicates == 0)
            #expect(try await fixture.count("queue") == 0)
            #expect(try await fixture.count("log") == 1_000)
            for name in names {
                #expect(fixture.provider.titles(to: "\(name)-phone") == ["1", "2", "3", "4", "5"])
            }
        }
    }
}
