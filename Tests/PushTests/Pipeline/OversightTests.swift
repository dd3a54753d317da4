import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import Wire

@testable import PushServer

@Suite struct OversightTests {
    private static func withFailures(_ body: (PipelineScene) async throws -> Void) async throws {
        try await withPipeline { scene in
            for name in ["ann", "bob", "cat"] { try await scene.device(of: name) }
            scene.provider.answer { _, target in
                switch target.token {
                case "cat-phone": PushReply(.tooLarge, reason: "PayloadTooLarge")
                default: PushReply(.refused, status: 400, reason: "BadTopic")
                }
            }
            try await scene.notify(["ann", "bob", "cat"]) { $0.ttl = 60 }
            try await scene.run()
            #expect(try await scene.count("failures") == 3)
            try await body(scene)
        }
    }

    @Test func whatWasRefusedIsSentOnceMore() async throws {
        try await Self.withFailures { scene in
            let failed = try await scene.pipeline.oversight.failures(before: nil, limit: 10).things
            #expect(failed.map(\.userId) == ["cat", "bob", "ann"])
            let ann = try #require(failed.last)
            // What was wrong is put right, an hour after it was of use.
            scene.provider.answer { _, _ in nil }
            scene.clock.advance(by: 3_600)

            let one = try await scene.pipeline.oversight.retry(PushFailureSelection(ids: [ann.id, 999_999]))
            try await scene.run()
            #expect(one.count == 1)
            #expect(try await scene.outcomes(of: "ann") == ["failed BadTopic", "sent"])
            #expect(try await scene.outcomes(of: "bob") == ["failed BadTopic"])

            let rest = try await scene.pipeline.oversight.retry(PushFailureSelection(applicationId: "acme"))
            try await scene.run()
            #expect(rest.count == 2)
            #expect(Set(scene.provider.sent.map(\.message.id)).count == 3, "it is another notification to its device")
        }
    }

    @Test func whatNobodyWantsIsDropped() async throws {
        try await Self.withFailures { scene in
            let oversight = scene.pipeline.oversight

            let others = try await oversight.drop(PushFailureSelection(applicationId: "other"))
            #expect(others.count == 0)
            #expect(try await oversight.drop(PushFailureSelection(reason: "BadTopic")).count == 2)
            #expect(try await oversight.failures(before: nil, limit: 10).things.map(\.userId) == ["cat"])
            #expect(try await oversight.drop(PushFailureSelection(all: true)).count == 1)
        }
    }

    @Test func whatIsOldIsForgotten() async throws {
        try await Self.withFailures { scene in
            scene.provider.answer { _, _ in nil }
            try await scene.favour("pianist", by: "ann")
            try await scene.goLive("pianist", stream: "s1")
            try await scene.run()
            scene.clock.advance(by: 29 * 86_400)
            try await scene.notify(["bob"])
            try await scene.run()
            try await scene.pipeline.upkeep.prune()
            #expect(try await scene.count("log") == 5)

            scene.clock.advance(by: 2 * 86_400)
            try await scene.pipeline.upkeep.prune()

            #expect(try await scene.count("log") == 1)
            #expect(try await scene.count("failures") == 0)
            #expect(try await scene.count("cooldowns") == 0)
            #expect(try await scene.outcomes(of: "bob") == ["sent"])
            scene.clock.advance(by: 90 * 86_400)
            try await scene.pipeline.upkeep.prune()
            #expect(try await scene.count("notifications") == 0)
        }
    }
}
