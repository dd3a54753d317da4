import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// The guarantees of batch writing and write shards under concurrency and failures.
@Suite("Sending") struct SendTests {
    @Test("A draft that is retried on two instances is written once")
    func retry() async throws {
        try await withStore { fixture in
            let instances = [fixture.writeShards, fixture.otherShards()]
            let ids = (0..<20).map { "id \($0)" }

            let answers = try await withThrowingTaskGroup(of: [Int64?].self) { callers in
                for caller in 0..<32 {
                    callers.addTask {
                        var seqs: [Int64?] = []
                        for id in ids {
                            seqs.append(try await instances[caller % 2].write(fixture.draft(id: id)).seq)
                        }
                        return seqs
                    }
                }
                return try await callers.reduce(into: []) { $0.append($1) }
            }

            #expect(Set(answers).count == 1)
            #expect(Set(answers[0]).count == ids.count)
            #expect(try await fixture.audit() == .consistent(ids.count))
        }
    }

    @Test("The same client message id from another sender is another message")
    func idPerSender() async throws {
        try await withStore { fixture in
            let first = try await fixture.writeShards.write(fixture.draft(by: "ana", id: "1"))
            let second = try await fixture.writeShards.write(fixture.draft(by: "bo", id: "1"))

            #expect(first.seq == 1)
            #expect(second.seq == 2)
        }
    }

    @Test("No message of a kicked user follows the kick")
    func sendAfterKick() async throws {
        try await withStore { fixture in
            let instances = [fixture.writeShards, fixture.otherShards()]
            let members = Members(conversations: fixture.conversations)

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for sender in 0..<16 {
                    tasks.addTask {
                        while !(try await instances[sender % 2].write(fixture.draft(by: "bo"))).isNotMember {}
                    }
                }
                tasks.addTask {
                    try await eventually { try await fixture.audit().messages >= 100 }
                    _ = try await members.kick("bo", from: fixture.conversation, by: StoreFixture.user("ana"))
                }
                try await tasks.waitForAll()
            }

            let last = try await fixture.pool.one(
                "SELECT sender_id, data FROM messages ORDER BY seq DESC LIMIT 1",
                as: { (try $0.optionalString("sender_id"), try $0.string("data")) }
            )
            #expect(last.0 == nil)
            #expect(last.1.contains("user.kicked"))
            let audit = try await fixture.audit()
            #expect(audit == .consistent(audit.messages))
        }
    }

    @Test("A draft that waited for the sender's removal is rejected")
    func waitingDraft() async throws {
        try await withStore { fixture in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await fixture.pool.transaction { db in
                    _ = try await HeadStore(db: db).lock(fixture.conversation.id)
                    tasks.addTask {
                        let outcome = try await fixture.writeShards.write(fixture.draft(by: "bo"))
                        #expect(outcome.isNotMember)
                    }
                    try await fixture.waitForBlockedShard()
                    _ = try await MemberStore(db: db).remove("bo", from: fixture.conversation.id)
                }
                try await tasks.waitForAll()
            }
            #expect(try await fixture.audit() == .consistent(0))
        }
    }

    @Test("Batches over the same conversations do not deadlock")
    func deadlock() async throws {
        try await withStore { fixture in
            var tokens: [ConversationToken] = []
            for _ in 0..<24 { tokens.append(try await fixture.newConversation()) }
            let conversations = tokens

            // This calls the batch writer directly, because a write shard would retry a deadlocked batch and hide the error.
            try await withThrowingTaskGroup(of: Void.self) { instances in
                for _ in 0..<6 {
                    let segment = BatchWriter(database: fixture.pool, statementTimeout: .seconds(60))
                    instances.addTask {
                        for _ in 0..<25 {
                            let batch = conversations.shuffled().prefix(16).map { fixture.draft(in: $0) }
                            let outcomes = try await segment.write(batch)
                            let areAllNew = outcomes.allSatisfy(\.isNew)
                            #expect(areAllNew)
                        }
                    }
                }
                try await instances.waitForAll()
            }

            var total = 0
            for token in conversations {
                let audit = try await fixture.audit(token)
                #expect(audit == .consistent(audit.messages))
                total += audit.messages
            }
            #expect(total == 6 * 25 * 16)
        }
    }

    @Test("An invalid draft in a batch fails alone")
    func invalidDraft() async throws {
        try await withStore { fixture in
            let failures = SharedValue<[Int]>([])

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                try await fixture.holdingLock {
                    tasks.addTask { try await fixture.expectNew(fixture.draft()) }
                    try await fixture.waitForBlockedShard()
                    for number in 1...20 {
                        tasks.addTask {
                            let draft =
                                switch number {
                                case 7: fixture.draft("no media type", mime: "")
                                case 13: fixture.draft("a NUL \0 in it")
                                default: fixture.draft("\(number)")
                                }
                            do {
                                try await fixture.expectNew(draft)
                            } catch {
                                failures.change { $0.append(number) }
                            }
                        }
                    }
                    // While the first draft waits for the lock, the others collect in one batch.
                    try await fixture.waitForQueued(20)
                }
                try await tasks.waitForAll()
            }

            #expect(failures.value.sorted() == [7, 13])
            #expect(try await fixture.audit() == .consistent(19))
        }
    }

    @Test("Drafts that are retried after a lost connection are written once")
    func connectionLoss() async throws {
        try await withStore { fixture in
            let instances = [fixture.writeShards, fixture.otherShards()]
            let acknowledged = SharedValue<[String: Int64]>([:])

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                let isOver = SharedValue(false)
                for sender in 0..<16 {
                    tasks.addTask {
                        var number = 0
                        while !isOver.value {
                            let id = "\(sender)/\(number)"
                            number += 1
                            let writeShards = instances[sender % 2]
                            let seq = try await writeShards.write(fixture.draft(by: "bo", id: id)).seq
                            acknowledged.change { $0[id] = seq }
                        }
                    }
                }
                tasks.addTask {
                    for round in 1...8 {
                        try await eventually { acknowledged.value.count >= round * 150 }
                        try await fixture.breakShards()
                    }
                    isOver.change { $0 = true }
                }
                try await tasks.waitForAll()
            }

            let known = acknowledged.value
            let written = try await fixture.pool.all(
                "SELECT client_message_id, seq FROM messages WHERE conversation_id = \(fixture.conversation.id)",
                as: { (try $0.string("client_message_id"), try $0.int64("seq")) }
            )
            #expect(Dictionary(written, uniquingKeysWith: { _, _ in -1 }) == known)
            #expect(try await fixture.audit() == .consistent(known.count))
        }
    }

    @Test("A stranger, a user of another application and an old token write nothing")
    func permission() async throws {
        try await withStore { fixture in
            let other = MessageWrite(
                conversation: fixture.conversation,
                sender: User.ID(application: "other", user: "ana"),
                clientMessageID: "1",
                data: "hello",
                mime: "text/plain",
                encoding: "utf8",
                meta: nil,
                push: nil,
                replyTo: nil
            )
            let renewed = ConversationToken(id: fixture.conversation.id, secret: ConversationToken.newSecret())

            for write in [fixture.draft(by: "eve"), .message(other), fixture.draft(in: renewed)] {
                let outcome = try await fixture.writeShards.write(write)
                #expect(outcome.isNotMember)
            }
            #expect(try await fixture.audit() == .consistent(0))
        }
    }

    @Test("The outbox rows cover every message once")
    func outbox() async throws {
        try await withStore { fixture in
            try await withThrowingTaskGroup(of: Void.self) { senders in
                for _ in 0..<40 { senders.addTask { _ = try await fixture.writeShards.write(fixture.draft()) } }
                try await senders.waitForAll()
            }

            let ranges = try await fixture.pool.all(
                "SELECT from_seq, to_seq FROM outbox ORDER BY from_seq",
                as: { try $0.int64("from_seq")...$0.int64("to_seq") }
            )
            #expect(ranges.flatMap { $0 } == Array(1...40))
        }
    }
}
