import ConversationsAPI
import Foundation
import Postgres
import PushAPI
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Every message is delivered to push once and in order, whatever push does.
@Suite("Push outbox") struct PushOutboxTests {
    private let push = FakePush()

    private func waiting(_ fixture: ConversationFixture) async throws -> Int {
        try await fixture.service.database.pool.one(
            "SELECT count(*) AS n FROM outbox WHERE kind = 'messages'",
            as: { try $0.int("n") }
        )
    }

    /// Returns the number of rows that an instance has claimed.
    private func claimedRows(_ fixture: ConversationFixture) async throws -> Int {
        try await fixture.service.database.pool.one(
            "SELECT count(*) AS n FROM outbox WHERE claimed_by IS NOT NULL",
            as: { try $0.int("n") }
        )
    }

    @Test("Messages sent during an outage of push are delivered in order after it")
    func pushOutage() async throws {
        try await withConversation(push: push) { fixture in
            push.setUnavailable(true)
            for number in 1...5 { try await fixture.ana.send("\(number)", in: fixture.token) }
            try await eventually { push.calls.count >= 2 }
            #expect(push.taken.isEmpty)

            push.setUnavailable(false)

            try await push.waitForNotifications(5)
            #expect(push.bodies == (1...5).map { "ana: \($0)" })
            try await eventually { try await waiting(fixture) == 0 }
        }
    }

    @Test("A lost response of push causes a retry, not a second notification")
    func lostResponse() async throws {
        try await withConversation(push: push) { fixture in
            push.dropResponses(3)
            try await fixture.ana.send("once", in: fixture.token)
            try await eventually { try await waiting(fixture) == 0 }
            #expect(push.bodies == ["ana: once"])
            #expect(push.calls.count == 4)
            #expect(Set(push.calls.joined().map(\.id)).count == 1)
        }
    }

    @Test("An unresponsive push does not delay the sending of messages")
    func unresponsivePush() async throws {
        try await withConversation(push: push) { fixture in
            push.setHanging(true)
            try await fixture.ana.send("first", in: fixture.token)
            try await eventually { push.calls.count == 1 }

            // Sending that waited for push would have to wait for this task.
            let release = Task { [push] in
                try await Task.sleep(for: .seconds(60))
                push.setHanging(false)
            }
            for number in 1...20 { try await fixture.bo.send("\(number)", in: fixture.token) }
            #expect(try await fixture.ana.conversations.messages(fixture.token).count == 20)
            #expect(push.taken.isEmpty)

            release.cancel()
            push.setHanging(false)
            try await push.waitForNotifications(21)
            #expect(push.bodies == ["ana: first"] + (1...20).map { "bo: \($0)" })
        }
    }

    @Test("A message that is deleted or edited before its delivery is skipped or updated")
    func deletedMeanwhile() async throws {
        try await withConversation(push: push) { fixture in
            push.setUnavailable(true)
            let slip = try await fixture.ana.send("a slip of the tongue", in: fixture.token)
            let other = try await fixture.ana.conversations.create(.init(label: "Gone", members: ["bo"]))
            try await fixture.ana.send("gone", in: other.token)
            try await eventually { push.calls.count >= 1 }
            try await fixture.ana.conversations.delete(slip.id, in: fixture.token)
            try await fixture.ana.conversations.edit(
                try await fixture.ana.send("secnd", in: fixture.token).id,
                in: fixture.token,
                to: MessageChanges(data: "second")
            )
            try await fixture.ana.conversations.delete(other.token)
            // Waits until no instance holds rows that it read before the changes. During the outage, claims are released.
            try await eventually { try await claimedRows(fixture) == 0 }

            push.setUnavailable(false)

            try await eventually { try await waiting(fixture) == 0 }
            #expect(push.bodies == ["ana: second"])
        }
    }

    @Test("Two instances deliver every message once and in order")
    func twoInstances() async throws {
        try await withConversation(push: push) { fixture in
            try await withSecondInstance(of: fixture, push: push) { bo in
                let others = try await [
                    fixture.ana.conversations.create(.init(label: "One", members: ["bo"])),
                    fixture.ana.conversations.create(.init(label: "Two", members: ["bo"])),
                ]
                let tokens = [fixture.token] + others.map(\.token)
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for writer in 0..<9 {
                        let person = writer % 2 == 0 ? fixture.ana : bo
                        tasks.addTask {
                            for number in 0..<20 {
                                try await person.send("\(writer)/\(number)", in: tokens[writer % 3])
                            }
                        }
                    }
                    try await tasks.waitForAll()
                }

                try await push.waitForNotifications(180)
                try await eventually { try await waiting(fixture) == 0 }
                #expect(push.taken.count == 180)
                for token in tokens {
                    let seqs = push.taken.filter { $0.about == token }.compactMap { $0.data?["seq"].int }
                    #expect(seqs == Array(1...60))
                }
                // No notification was sent twice, so no claim was lost.
                #expect(push.calls.joined().count == 180)
            }
        }
    }

    @Test("The notifications of a large conversation are sent in parts of at most 1,000 recipients")
    func memberPages() async throws {
        try await withConversation(push: push) { fixture in
            let pool = fixture.service.database.pool
            let id = fixture.conversation.id.rawValue
            _ = try await pool.execute(
                "INSERT INTO users (application_id, user_id) SELECT 'other', 'm' || n FROM generate_series(1, 1200) AS n"
            )
            _ = try await pool.execute(
                """
                INSERT INTO members (conversation_id, application_id, user_id, user_number, joined_seq, is_admin)
                SELECT \(id), application_id, user_id, user_number, user_number, false
                FROM users WHERE user_id LIKE 'm%'
                """
            )
            _ = try await pool.execute("UPDATE conversations SET member_count = 1202 WHERE conversation_id = \(id)")
            // The first response is lost, so that the retry must not send the parts of the first message twice.
            push.dropResponses(1)
            try await fixture.ana.send("all of you", in: fixture.token)
            try await fixture.ana.send("again", in: fixture.token)

            try await eventually { try await waiting(fixture) == 0 }
            for body in ["ana: all of you", "ana: again"] {
                let parts = push.taken.filter { $0.body == body }
                #expect(parts.count == 3)
                #expect(Set(parts.map(\.id)).count == 3)
                let users = parts.flatMap { $0.recipients.map(\.userId) }
                #expect(users.count == 1_201)
                #expect(Set(users).count == 1_201)
                #expect(!users.contains("ana"))
            }
            for call in push.calls { #expect(call.reduce(0) { $0 + $1.recipients.count } <= 1_000) }
        }
    }

    @Test("A notification that push rejects delays no other")
    func rejectedNotification() async throws {
        try await withConversation(push: push) { fixture in
            let other = try await fixture.ana.conversations.create(.init(label: "Other", members: ["bo"]))
            let broken = try await fixture.ana.conversations.create(.init(label: "Broken", members: ["bo"]))
            push.setUnavailable(true)
            push.refuse { request in
                if request.body?.contains("poison") ?? false { return .invalid("body", "not this") }
                return request.title == "Broken" ? .internal : nil
            }
            try await fixture.ana.send("before", in: fixture.token)
            try await fixture.ana.send("poison", in: fixture.token)
            try await fixture.ana.send("never yet", in: broken.token)
            try await fixture.ana.send("after", in: fixture.token)
            try await fixture.ana.send("beside", in: other.token)

            push.setUnavailable(false)

            try await push.waitForNotifications(3)
            #expect(
                push.taken.filter { $0.about == fixture.token }.compactMap(\.body) == ["ana: before", "ana: after"]
            )
            #expect(push.taken.filter { $0.about == other.token }.compactMap(\.body) == ["ana: beside"])
            // A message on which push failed stays in the outbox for a retry.
            try await eventually { try await waiting(fixture) == 1 }
        }
    }

    @Test("A message of an instance that crashed before signaling is delivered")
    func missedSignal() async throws {
        try await withConversation(push: push) { fixture in
            // Another instance, which crashes before it sends a signal.
            let writeShards = WriteShards(
                database: fixture.service.database.pool,
                configuration: ConversationsConfiguration(),
                logger: StoreFixture.logger
            )
            let token = try #require(ConversationToken(fixture.token))
            let write = MessageWrite(
                conversation: token,
                sender: fixture.ana.id,
                clientMessageID: "1",
                data: "without a signal",
                mime: "text/plain",
                encoding: "utf8",
                meta: nil,
                push: nil,
                replyTo: nil
            )
            _ = try await writeShards.write(.message(write))
            try await push.waitForNotifications(1)
            #expect(push.bodies == ["ana: without a signal"])
        }
    }

    @Test("Without push old rows are removed after the retention, with push a day later")
    func retention() async throws {
        try await withStore { fixture in
            for _ in 0..<4 { _ = try await fixture.writeShards.write(fixture.draft()) }
            _ = try await fixture.pool.execute(
                """
                UPDATE outbox SET written_at = now() - CASE WHEN from_seq <= 2 THEN interval '25 hours'
                    ELSE interval '1 hour' END
                """
            )
            _ = try await fixture.pool.execute(
                "INSERT INTO outbox (kind, written_at) VALUES ('user.blocked', now() - interval '1 hour')"
            )
            func left() async throws -> [Int?] {
                try await fixture.pool.all(
                    "SELECT from_seq FROM outbox ORDER BY outbox_id",
                    as: { try $0.decodeIfPresent("from_seq") }
                )
            }
            var outbox = OutboxPruner(
                database: fixture.pool,
                retention: 600,
                pushRetention: 86_400,
                logger: StoreFixture.logger,
                now: { Date() }
            )
            try await outbox.prune()
            #expect(try await left() == [3, 4])

            outbox.pushRetention = nil
            try await outbox.prune()
            #expect(try await left().isEmpty)
        }
    }
}
