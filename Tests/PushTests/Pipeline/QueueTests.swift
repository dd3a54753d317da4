import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import TestSupport

@testable import PushServer

@Suite struct QueueTests {
    @Test func whatComesTwiceIsSentOnce() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")

            #expect(try await scene.notify(["ann"], id: "message:1") == NotificationsTaken(taken: 1, known: 0))
            #expect(try await scene.notify(["ann"], id: "message:1") == NotificationsTaken(taken: 0, known: 1))
            try await scene.run()
            #expect(try await scene.notify(["ann"], id: "message:1") == NotificationsTaken(taken: 0, known: 1))
            let other = try await scene.notify(["ann"], id: "message:1") { $0.applicationId = "other" }
            try await scene.run()

            #expect(other.taken == 1)
            #expect(scene.provider.sent.count == 1)
        }
    }

    @Test func ofTheSameIdInOneCallTheFirstCounts() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            let requests = ["a", "b", "a"].map { id in
                NotificationRequest(
                    id: id,
                    applicationId: PipelineScene.application,
                    kind: .message,
                    recipients: [.init(userId: "ann"), .init(userId: "ann")],
                    title: id
                )
            }

            let taken = try await scene.pipeline.intake.take(requests)
            try await scene.run()

            #expect(taken == NotificationsTaken(taken: 2, known: 1))
            #expect(scene.provider.titles(to: "ann-phone") == ["a", "b"])
        }
    }

    @Test func oneDeviceIsSentOneAfterAnother() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            for number in 1...5 { try await scene.notify(["ann"], "\(number)") }
            try await scene.decide()

            #expect(try await scene.pipeline.sending.claim() == 1)
            #expect(try await scene.pipeline.sending.claim() == 0)
            try await scene.run()

            #expect(scene.provider.titles(to: "ann-phone") == ["1", "2", "3", "4", "5"])
        }
    }

    @Test func whatIsTriedAgainIsNotOvertaken() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            scene.provider.answer { message, _ in message.title == "1" ? PushReply(.targetBusy, status: 429) : nil }
            for number in 1...2 { try await scene.notify(["ann"], "\(number)") }
            try await scene.run()
            #expect(scene.provider.titles(to: "ann-phone") == ["1"])

            scene.provider.answer { _, _ in nil }
            scene.clock.advance(by: 1)
            try await scene.run()

            #expect(scene.provider.titles(to: "ann-phone") == ["1", "1", "2"])
        }
    }

    @Test func theMoreUrgentGoesFirst() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            for priority in [NotificationPriority.low, .high, .normal] {
                try await scene.notify(["ann"], priority.rawValue) { $0.priority = priority }
            }
            try await scene.run()

            #expect(scene.provider.titles(to: "ann-phone") == ["high", "normal", "low"])
            #expect(scene.provider.sent.map(\.message.priority) == [.high, .normal, .low])
        }
    }

    @Test func aNewerOneTakesThePlaceOfOneThatIsNotSentYet() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            scene.provider.silence { _ in true }
            try await scene.notify(["ann"], "sending") { $0.collapseKey = "score" }
            try await scene.decide()
            #expect(try await scene.pipeline.sending.claim() == 1)
            try await eventually { scene.provider.waiting == 1 }

            try await scene.notify(["ann"], "1:0") { $0.collapseKey = "score" }
            try await scene.decide()
            // Two that are decided together.
            for score in ["2:0", "2:1"] { try await scene.notify(["ann"], score) { $0.collapseKey = "score" } }
            try await scene.notify(["ann"], "other") { $0.collapseKey = "else" }
            scene.provider.speak()
            try await scene.run()

            #expect(scene.provider.titles(to: "ann-phone") == ["sending", "2:1", "other"])
            #expect(try await scene.outcomes(of: "ann").filter { $0 == "replaced" }.count == 2)
            #expect(scene.provider.sent.map(\.message.collapseKey) == ["score", "score", "else"])
        }
    }

    @Test func whatIsTooOldLeavesTheQueueAlsoWhileNothingIsSent() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            scene.provider.takeCredentialsAway()
            try await scene.notify(["ann"], "soon over") { $0.ttl = 60 }
            try await scene.notify(["ann"], "lasting") { $0.ttl = 600 }
            try await scene.run()

            scene.clock.advance(by: 60)
            try await scene.pipeline.upkeep.expire()

            #expect(scene.provider.sent.isEmpty)
            #expect(try await scene.outcomes(of: "ann") == ["expired no_credentials", "waiting"])
        }
    }

    @Test func whatIsTooOldWhenItsTurnComesIsNotSent() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.notify(["ann"]) { $0.ttl = 60 }
            try await scene.decide()
            scene.clock.advance(by: 60)
            try await scene.run()

            #expect(scene.provider.sent.isEmpty)
            #expect(try await scene.outcomes(of: "ann") == ["expired"])
        }
    }

    @Test func whatIsForADeviceThatIsGoneIsNotSent() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.notify(["ann"])
            try await scene.decide()
            try await scene.pool.run("DELETE FROM devices")
            try await scene.run()

            #expect(scene.provider.sent.isEmpty)
            #expect(try await scene.outcomes(of: "ann") == ["failed device_gone"])
        }
    }

    /// The instance that claimed them dies: what it had not written down is sent again, and nothing else.
    @Test func whatADeadInstanceHadNotWrittenDownIsSentByAnother() async throws {
        try await withPipeline { scene in
            for number in 1...20 { try await scene.device(of: "user-\(number)") }
            try await scene.notify((1...20).map { "user-\($0)" })
            let (dying, living) = (scene.another { $0.maximumLaneSends = 8 }, scene.another())
            scene.provider.silence { target in ["user-1-phone", "user-2-phone"].contains(target.token) }
            try await scene.decide()
            #expect(try await dying.sending.claim() == 8)
            try await eventually { dying.sending.underWay.unanswered == 2 }
            let noted = try await dying.sending.settle()
            #expect(noted == 6)
            // Two more are accepted, and it is over before they are written down.
            scene.provider.speak()
            try await eventually { dying.sending.underWay.unanswered == 0 }

            try await scene.run(living)
            #expect(scene.provider.sent.count == 20 && scene.provider.doubles == 0)
            scene.clock.advance(by: Sending.lease)
            try await scene.run(living)

            #expect(Set(scene.provider.sent.map(\.message.id)).count == 20)
            #expect(scene.provider.doubles == 2)
            #expect(try await scene.count("queue") == 0)
            #expect(try await scene.count("log") == 20)
        }
    }

    @Test func aLeaseIsRenewedWhileItsHolderLives() async throws {
        try await withPipeline { scene in
            try await scene.device(of: "ann")
            try await scene.notify(["ann"])
            let other = scene.another()
            scene.provider.silence { _ in true }
            try await scene.decide()
            #expect(try await scene.pipeline.sending.claim() == 1)
            try await eventually { scene.provider.waiting == 1 }
            for _ in 1...5 {
                scene.clock.advance(by: Sending.lease / 2)
                try await scene.pipeline.sending.renew()
                #expect(try await other.sending.claim() == 0)
            }
            scene.provider.speak()
            try await scene.run()

            #expect(scene.provider.sent.count == 1)
        }
    }

    @Test func instancesShareAQueue() async throws {
        try await withPipeline { scene in
            let names = (1...300).map { "user-\($0)" }
            for name in names { try await scene.device(of: name) }
            try await scene.notify(names)
            try await scene.decide()
            let instances = [scene.pipeline, scene.another(), scene.another()]

            try await withThrowingTaskGroup(of: Void.self) { group in
                for instance in instances { group.addTask { try await scene.run(instance) } }
                try await group.waitForAll()
            }

            #expect(scene.provider.sent.count == 300 && scene.provider.doubles == 0)
            #expect(try await scene.count("queue") == 0)
        }
    }

    /// Everything at once and for real: decided, claimed, sent and written down by two instances as they run.
    @Test func runningInstancesEmptyTheQueueAndFinishWhatTheyBegan() async throws {
        try await withPipeline { scene in
            let names = (1...200).map { "user-\($0)" }
            for name in names { try await scene.device(of: name) }
            let instances = [scene.pipeline, scene.another()]
            try await withRunning(instances.flatMap(\.background)) {
                for number in 1...5 { try await scene.notify(names, "\(number)") }
                try await eventually(within: .seconds(90)) { scene.provider.sent.count >= 1_000 }
            }

            #expect(scene.provider.sent.count == 1_000 && scene.provider.doubles == 0)
            #expect(try await scene.count("queue") == 0)
            #expect(try await scene.count("log") == 1_000)
            for name in names {
                #expect(scene.provider.titles(to: "\(name)-phone") == ["1", "2", "3", "4", "5"])
            }
        }
    }
}
