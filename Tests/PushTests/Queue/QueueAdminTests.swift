import Foundation
import Postgres
import PushAPI
import PushProviders
import Testing
import Wire

@testable import PushServer

@Suite("Queue administration") struct QueueAdminTests {
    private static func withFailures(_ body: (PipelineFixture) async throws -> Void) async throws {
        try await withPipeline { fixture in
            for name in ["ann", "bob", "cat"] { try await fixture.device(of: name) }
            fixture.provider.reply { _, target in
                switch target.token {
                case "cat-phone": PushReply(.tooLarge, reason: "PayloadTooLarge")
                default: PushReply(.refused, status: 400, reason: "BadTopic")
                }
            }
            try await fixture.notify(["ann", "bob", "cat"]) { $0.ttl = 60 }
            try await fixture.run()
            #expect(try await fixture.count("failures") == 3)
            try await body(fixture)
        }
    }

    @Test("The operator retries failures, also after their time to live")
    func retry() async throws {
        try await Self.withFailures { fixture in
            let failed = try await fixture.pipeline.queueAdmin.failures(before: nil, limit: 10).items
            #expect(failed.map(\.userId) == ["cat", "bob", "ann"])
            let ann = try #require(failed.last)
            // The cause is fixed an hour later, after the time to live.
            fixture.provider.reply { _, _ in nil }
            fixture.clock.advance(by: 3_600)

            let one = try await fixture.pipeline.queueAdmin.retry(PushFailureSelection(ids: [ann.id, 999_999]))
            try await fixture.run()
            #expect(one.count == 1)
            #expect(try await fixture.outcomes(of: "ann") == ["failed BadTopic", "sent"])
            #expect(try await fixture.outcomes(of: "bob") == ["failed BadTopic"])

            let rest = try await fixture.pipeline.queueAdmin.retry(PushFailureSelection(applicationId: "acme"))
            try await fixture.run()
            #expect(rest.count == 2)
            #expect(Set(fixture.provider.sent.map(\.message.id)).count == 3, "a retry has another message ID")
        }
    }

    @Test("The operator drops failures by application, by reason, or all")
    func drop() async throws {
        try await Self.withFailures { fixture in
            let queueAdmin = fixture.pipeline.queueAdmin

            let others = try await queueAdmin.drop(PushFailureSelection(applicationId: "other"))
            #expect(others.count == 0)
            #expect(try await queueAdmin.drop(PushFailureSelection(reason: "BadTopic")).count == 2)
            #expect(try await queueAdmin.failures(before: nil, limit: 10).items.map(\.userId) == ["cat"])
            #expect(try await queueAdmin.drop(PushFailureSelection(all: true)).count == 1)
        }
    }

    @Test("Log entries, failures and cooldowns are pruned after 30 days, and notifications later")
    func pruning() async throws {
        try await Self.withFailures { fixture in
            fixture.provider.reply { _, _ in nil }
            try await fixture.addFavourite("pianist", by: "ann")
            try await fixture.goLive("pianist", stream: "s1")
            try await fixture.run()
            fixture.clock.advance(by: 29 * 86_400)
            try await fixture.notify(["bob"])
            try await fixture.run()
            try await fixture.pipeline.maintenance.prune()
            #expect(try await fixture.count("log") == 5)

            fixture.clock.advance(by: 2 * 86_400)
            try await fixture.pipeline.maintenance.prune()

            #expect(try await fixture.count("log") == 1)
            #expect(try await fixture.count("failures") == 0)
            #expect(try await fixture.count("cooldowns") == 0)
            #expect(try await fixture.outcomes(of: "bob") == ["sent"])
            fixture.clock.advance(by: 90 * 86_400)
            try await fixture.pipeline.maintenance.prune()
            #expect(try await fixture.count("notifications") == 0)
        }
    }
}
