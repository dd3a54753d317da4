import ConversationsAPI
import Foundation
import Postgres
import TestSupport
import Testing

@testable import ConversationsServer

/// Read marks in the store.
@Suite("Read marks") struct ReadMarkTests {
    @Test("Marks of a member in one batch become the highest one, with one change number")
    func highestMark() async throws {
        try await withStore { fixture in
            for _ in 0..<10 { _ = try await fixture.writeShards.write(fixture.draft()) }
            let before = try await fixture.lastChange()

            let segment = BatchWriter(database: fixture.pool, statementTimeout: .seconds(30))
            let marks = try await segment.write([3, 9, 5, 9].map { fixture.mark("bo", upTo: $0) })

            #expect(marks.map(\.mark?.seq) == [9, 9, 9, 9])
            #expect(marks.map(\.mark?.unreadCount) == [1, 1, 1, 1])
            #expect(try await fixture.lastChange() == before + 1)
        }
    }

    @Test("A mark never moves back or beyond the last message")
    func monotonicity() async throws {
        try await withStore { fixture in
            for _ in 0..<5 { _ = try await fixture.writeShards.write(fixture.draft()) }
            let first = try await fixture.writeShards.write(fixture.mark("bo", upTo: 4)).mark
            let back = try await fixture.writeShards.write(fixture.mark("bo", upTo: 2)).mark
            let beyond = try await fixture.writeShards.write(fixture.mark("bo", upTo: 99)).mark

            #expect(first == ReadMark(seq: 4, unreadCount: 1, change: 6))
            #expect(back == first)
            #expect(beyond == first)
            #expect(try await fixture.lastChange() == 6)
        }
    }

    @Test("A message counts as read by its sender")
    func ownMessageRead() async throws {
        try await withStore { fixture in
            for _ in 0..<3 { _ = try await fixture.writeShards.write(fixture.draft(by: "ana")) }
            _ = try await fixture.writeShards.write(fixture.draft(by: "bo"))

            #expect(try await fixture.writeShards.write(fixture.mark("bo", upTo: 1)).mark?.seq == 4)
            #expect(try await fixture.writeShards.write(fixture.mark("ana", upTo: 1)).mark?.unreadCount == 1)
        }
    }

    @Test("Marks and messages in one batch take change numbers in order")
    func batch() async throws {
        try await withStore { fixture in
            for _ in 0..<4 { _ = try await fixture.writeShards.write(fixture.draft()) }

            let segment = BatchWriter(database: fixture.pool, statementTimeout: .seconds(30))
            let outcomes = try await segment.write([
                fixture.mark("bo", upTo: 2), fixture.draft(), fixture.mark("cat", upTo: 3), fixture.draft(),
                fixture.mark("eve", upTo: 1),
            ])

            #expect(outcomes[0].mark == ReadMark(seq: 2, unreadCount: 4, change: 7))
            #expect(outcomes[1].seq == 5)
            #expect(outcomes[2].mark == ReadMark(seq: 3, unreadCount: 3, change: 8))
            #expect(outcomes[3].seq == 6)
            #expect(outcomes[4].isNotMember)
            #expect(try await fixture.lastChange() == 8)
        }
    }

    @Test("A mark before a time covers the messages older than it")
    func readBefore() async throws {
        try await withStore { fixture in
            for _ in 0..<5 { _ = try await fixture.writeShards.write(fixture.draft()) }
            _ = try await fixture.pool.execute(
                "UPDATE messages SET created_at = timestamptz '2026-01-01T00:00:00Z' + seq * interval '1 second'"
            )
            let third = Date(timeIntervalSince1970: 1_767_225_600 + 3)

            func read(before date: Date) async throws -> Int64? {
                let write = MarkWrite(
                    conversation: fixture.conversation,
                    user: StoreFixture.user("bo"),
                    extent: .before(date)
                )
                return try await fixture.writeShards.write(.mark(write)).mark?.seq
            }

            #expect(try await read(before: third.addingTimeInterval(-10)) == 0)
            #expect(try await read(before: third) == 2)
            #expect(try await read(before: third.addingTimeInterval(0.001)) == 3)
            #expect(try await read(before: third.addingTimeInterval(1_000_000)) == 5)
        }
    }
}

extension StoreFixture {
    func lastChange() async throws -> Int64 {
        try await pool.one(
            "SELECT last_change FROM heads WHERE conversation_id = \(conversation.id)",
            as: { try $0.int64("last_change") }
        )
    }
}
