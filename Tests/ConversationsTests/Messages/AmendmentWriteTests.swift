import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing
import Wire

@testable import ConversationsServer

/// Edits, deletions and reactions that are written together with messages and read marks.
@Suite("Writing of amendments") struct AmendmentWriteTests {
    @Test("Concurrent writes take consecutive change numbers, and a reader misses none")
    func concurrency() async throws {
        try await withStore { fixture in
            let instances = [fixture.writeShards, fixture.otherShards()]
            for _ in 0..<10 { try await fixture.expectNew(fixture.draft()) }
            let isOver = SharedValue(false)

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await fixture.follow(until: isOver) }
                try await withThrowingTaskGroup(of: Void.self) { writers in
                    for number in 0..<100 {
                        let writeShards = instances[number % 2]
                        let seq = Int64(number % 10 + 1)
                        writers.addTask {
                            let outcome =
                                switch number % 3 {
                                case 0: try await writeShards.write(fixture.draft("new \(number)"))
                                case 1: try await writeShards.write(fixture.edit(seq, to: "edited \(number)"))
                                default:
                                    try await writeShards.write(fixture.react(Self.emoji(number), to: seq, by: "bo"))
                                }
                            #expect(outcome.isNew || outcome.isAmended)
                        }
                    }
                    try await writers.waitForAll()
                }
                isOver.change { $0 = true }
                try await tasks.waitForAll()
            }

            // Every write changes something, so every write takes a number.
            #expect(try await fixture.lastChange() == 110)
            #expect(try await fixture.audit() == .consistent(10 + 34))
            let reactions = try await fixture.pool.all(
                "SELECT change FROM reactions ORDER BY 1",
                as: { try $0.int64("change") }
            )
            #expect(Set(reactions).count == 33)
        }
    }

    private static func emoji(_ number: Int) -> String {
        Unicode.Scalar(0x1F600 + number).map { String(Character($0)) } ?? ""
    }

    @Test("The writes of a batch take consecutive change numbers in order")
    func batch() async throws {
        try await withStore { fixture in
            for _ in 0..<4 { try await fixture.expectNew(fixture.draft()) }
            let segment = BatchWriter(database: fixture.pool, statementTimeout: .seconds(30))

            let outcomes = try await segment.write([
                fixture.edit(1, to: "one"), fixture.draft(), fixture.react("👍", to: 2, by: "bo"),
                fixture.mark("bo", upTo: 3),
                fixture.delete(3, by: "ana"), fixture.edit(4, to: "four", by: "bo"), fixture.edit(9, to: "nine"),
                fixture.edit(2, to: "x", by: "eve"),
            ])

            #expect(outcomes[0].isAmended)
            #expect(outcomes[1].seq == 5)
            #expect(outcomes[2].isAmended)
            #expect(outcomes[4].isAmended)
            #expect(outcomes[3].mark?.seq == 3)
            #expect(outcomes[5].refusal == .notAuthor)
            #expect(outcomes[6].refusal == .missing)
            #expect(outcomes[7].isNotMember)
            #expect(try await fixture.changes() == [1: 6, 2: 7, 3: 8, 4: 4, 5: 5])
            #expect(try await fixture.lastChange() == 9)
        }
    }

    @Test("Writes that are retried after a lost connection take one change number")
    func connectionLoss() async throws {
        try await withStore { fixture in
            let instances = [fixture.writeShards, fixture.otherShards()]
            for _ in 0..<16 { try await fixture.expectNew(fixture.draft()) }
            let edits = SharedValue<[Int64: String]>([:])
            let acknowledged = SharedValue(0)

            try await withThrowingTaskGroup(of: Void.self) { tasks in
                let isOver = SharedValue(false)
                for writer in 0..<16 {
                    tasks.addTask {
                        let (seq, writeShards) = (Int64(writer + 1), instances[writer % 2])
                        var number = 0
                        while !isOver.value {
                            number += 1
                            let text = "\(writer)/\(number)"
                            let outcomes = [
                                try await writeShards.write(fixture.edit(seq, to: text)),
                                try await writeShards.write(fixture.react("👍", to: seq, by: "bo")),
                                try await writeShards.write(fixture.react("👍", to: seq, by: "bo", isRemoval: true)),
                            ]
                            for outcome in outcomes { #expect(outcome.isAmended) }
                            edits.change { $0[seq] = text }
                            acknowledged.change { $0 += 3 }
                        }
                    }
                }
                tasks.addTask {
                    for round in 1...6 {
                        try await eventually { acknowledged.value >= round * 300 }
                        try await fixture.breakShards()
                    }
                    isOver.change { $0 = true }
                }
                try await tasks.waitForAll()
            }

            let texts = try await fixture.pool.all(
                "SELECT seq, data FROM messages WHERE reaction_count IS NULL",
                as: { (try $0.int64("seq"), try $0.string("data")) }
            )
            #expect(Dictionary(uniqueKeysWithValues: texts) == edits.value)
            // Each write took one number, even if it was sent twice.
            #expect(try await fixture.lastChange() == Int64(16 + acknowledged.value))
            #expect(try await fixture.audit() == .consistent(16))
        }
    }
}

extension StoreFixture {
    func edit(_ seq: Int64, to data: String, by user: String = "ana") -> ConversationWrite {
        amendment(seq, by: user, .edit(data: data, meta: nil, replacesMeta: false))
    }

    func delete(_ seq: Int64, by user: String) -> ConversationWrite { amendment(seq, by: user, .delete) }

    func react(_ emoji: String, to seq: Int64, by user: String, isRemoval: Bool = false) -> ConversationWrite {
        amendment(seq, by: user, isRemoval ? .unreact(emoji) : .react(emoji))
    }

    private func amendment(_ seq: Int64, by user: String, _ action: Amendment.Action) -> ConversationWrite {
        .amendment(
            Amendment(
                conversation: conversation,
                user: Self.user(user),
                message: Message.ID(conversation.id, seq: seq),
                action: action
            )
        )
    }

    /// Returns each message's latest change number by sequence.
    func changes() async throws -> [Int64: Int64] {
        let rows = try await pool.all(
            "SELECT seq, change FROM messages",
            as: { (try $0.int64("seq"), try $0.int64("change")) }
        )
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// Reads changes until `isOver`, and then expects to know every message.
    func follow(until isOver: SharedValue<Bool>) async throws {
        let store = MessageStore(db: pool)
        var (after, known): (Int64, [Int64: Message]) = (0, [:])
        while true {
            let isLast = isOver.value
            guard
                case .missed(let missed) = try await store.changes(
                    conversation.id,
                    for: Self.user("ana"),
                    after: after,
                    limit: 20
                )?.changes
            else { throw TestSupportError("resync") }
            for message in missed.messages {
                // Every change number is higher than all earlier ones, so no change is late or repeated.
                if message.change <= after { throw TestSupportError("a change was late") }
                known[message.seq] = message
            }
            after = missed.change
            if isLast, !missed.more { break }
        }
        let all = try await store.history(conversation, for: Self.user("ana"), HistorySpan(count: 100))
        #expect(all?.sorted { $0.seq < $1.seq } == known.values.sorted { $0.seq < $1.seq })
    }
}

extension WriteOutcome {
    var isAmended: Bool { if case .amended = self { true } else { false } }
    var refusal: WriteRejection? { if case .refused(let refusal) = self { refusal } else { nil } }
}
