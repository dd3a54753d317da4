import ConversationsAPI
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Wire

@Suite("Reading of messages") struct ReadTests {
    @Test("Marking a message as read changes the unread count and the readers")
    func markRead() async throws {
        try await withConversation { fixture in
            var messages: [Message] = []
            for number in 1...5 { messages.append(try await fixture.ana.send("\(number)", in: fixture.token)) }
            #expect(try await fixture.bo.conversations.conversation(fixture.token).unreadCount == 5)

            let read = try await fixture.bo.conversations.markRead(messages[2].id, in: fixture.token)

            #expect(read.mark == ReadMark(seq: 3, unreadCount: 2, change: 6))
            #expect(read.message.id == messages[2].id)
            #expect(read.message.data == "3")
            #expect(read.message.seq == 3)
            #expect(read.message.reads == ["ana", "bo"])
            #expect(try await fixture.bo.conversations.conversation(fixture.token).unreadCount == 2)
            let reads = try await fixture.history([]).reversed().map(\.reads)
            #expect(reads == [["ana", "bo"], ["ana", "bo"], ["ana", "bo"], ["ana"], ["ana"]])
            #expect(try await fixture.bo.conversations.conversation(fixture.token).lastMessage?.reads == ["ana"])
            #expect(try await fixture.ana.conversations.conversation(fixture.token).unreadCount == 0)
        }
    }

    @Test("The response to a read mark has the mark's sequence and change, and the message's own")
    func markOfAnOlderMessage() async throws {
        try await withConversation { fixture in
            let first = try await fixture.ana.send("one", in: fixture.token)
            let last = try await fixture.ana.send("two", in: fixture.token)
            let newest = try await fixture.bo.conversations.markRead(last.id, in: fixture.token)

            let path = "/conversations/\(fixture.token)/messages/\(first.id)/read"
            let older = try await fixture.bo.ask(.post, path).json

            #expect(older["id"].int == Int(first.id.rawValue))
            #expect(older["data"].string == "one")
            #expect(older["senderUser"]["serial"].string == "ana")
            #expect(older["seq"].int == 2)
            #expect(older["change"].int == Int(newest.mark.change))
            #expect(older["unreadCount"].int == 0)
            #expect(older["messageSeq"].int == 1)
            #expect(older["messageChange"].int == Int(first.change))
        }
    }

    @Test("Messages before a time can be marked as read")
    func readBefore() async throws {
        try await withConversation { fixture in
            for number in 1...3 { try await fixture.ana.send("\(number)", in: fixture.token) }
            let path = "/conversations/\(fixture.token)/read"
            let inAnHour = Date().addingTimeInterval(3_600)

            #expect(try await fixture.bo.ask(.post, path, #"{"before": 0}"#).json["seq"].int == 0)
            let last = try #require(try await fixture.history([]).first)
            let older = try await fixture.bo.conversations.markRead(before: Moment(last.createdAt), in: fixture.token)
            #expect(older.seq < 3)
            let text = #"{"before": "\#(Timestamp.string(from: inAnHour))"}"#
            #expect(try await fixture.bo.ask(.post, path, text).json["unreadCount"].int == 0)
            let number = #"{"before": \#(inAnHour.timeIntervalSince1970)}"#
            #expect(try await fixture.bo.ask(.post, path, number).json["seq"].int == 3)
        }
    }

    @Test("A message of another conversation cannot be marked as read")
    func otherConversation() async throws {
        try await withConversation { fixture in
            try await fixture.ana.send("one", in: fixture.token)
            let other = try await fixture.ana.conversations.create(.init(label: "Other", members: ["bo"]))
            let there = try await fixture.ana.send("there", in: other.token)
            let beyond = Message.ID(fixture.conversation.id, seq: 2)

            for id in ["\(there.id)", "\(beyond)", "0", "-1", "x", "9007199254740993"] {
                let answer = try await fixture.bo.ask(.post, "/conversations/\(fixture.token)/messages/\(id)/read")
                #expect(answer.status == 404)
                #expect(answer.problem?.code == "message_not_found")
            }
            #expect(try await fixture.bo.conversations.conversation(fixture.token).unreadCount == 1)
        }
    }

    @Test("A conversation with more than 100 members has no list of readers")
    func readsLimit() async throws {
        let others = (1...99).map { "member \($0)" }
        try await withConversation(ConversationDraft(label: "Big", members: ["bo"] + others)) { fixture in
            // 101 members with Ana.
            let sent = try await fixture.bo.send("hello", in: fixture.token)
            #expect(sent.reads == nil)
            #expect(try await fixture.history([]).first?.reads == nil)
            #expect(try await fixture.ana.conversations.conversation(fixture.token).members?.count == 101)
            let listed = try await fixture.ana.conversations.list().items[0]
            #expect(listed.members == nil)
            #expect(listed.admins == nil)
            guard case .missed(let missed) = try await fixture.ana.conversations.changes(fixture.token, after: 0) else {
                Issue.record("nothing was missed")
                return
            }
            #expect(missed.reads == nil)

            try await fixture.ana.conversations.kick("member 1", from: fixture.token)
            #expect(try await fixture.history([]).last?.reads == ["bo"])
            #expect(try await fixture.ana.conversations.list().items[0].members?.count == 100)
        }
    }

    @Test("The pages of changes contain every missed message and read mark")
    func changePages() async throws {
        try await withConversation { fixture in
            for number in 1...7 { try await fixture.ana.send("\(number)", in: fixture.token) }
            try await fixture.bo.conversations.markRead(
                before: Moment(Date().addingTimeInterval(60)),
                in: fixture.token
            )
            try await fixture.bo.send("8", in: fixture.token)

            var after: Int64 = 0
            var seqs: [Int64] = []
            var marks: [String: Int64] = [:]
            var hasMore = true
            while hasMore {
                guard
                    case .missed(let missed) = try await fixture.ana.conversations.changes(
                        fixture.token,
                        after: after,
                        limit: 3
                    )
                else { throw TestSupportError("resync") }
                #expect(missed.messages.count <= 3)
                seqs += missed.messages.map(\.seq)
                for mark in missed.reads ?? [] { marks[mark.userId] = mark.seq }
                after = missed.change
                hasMore = missed.more
            }

            #expect(seqs == Array(1...8))
            #expect(marks == ["ana": 7, "bo": 8])
            #expect(after == 9)
            #expect(
                try await fixture.ana.conversations.changes(fixture.token, after: 9)
                    == .missed(.init(messages: [], reads: [], change: 9, more: false))
            )
            #expect(try await fixture.ana.conversations.changes(fixture.token, after: 10) == .resync)
        }
    }

    @Test("A client that only reads changes during writes misses no message")
    func changesDuringWrites() async throws {
        try await withConversation { fixture in
            let isOver = SharedValue(false)
            let known = try await withThrowingTaskGroup(of: [Int64: Message]?.self) { tasks in
                for (index, person) in [fixture.ana, fixture.bo, fixture.ana, fixture.bo].enumerated() {
                    tasks.addTask {
                        for number in 1...40 {
                            let sent = try await person.send("\(index)/\(number)", in: fixture.token)
                            if number % 5 == 0 {
                                try await fixture.bo.conversations.markRead(sent.id, in: fixture.token)
                            }
                        }
                        return nil
                    }
                }
                tasks.addTask {
                    var (after, known): (Int64, [Int64: Message]) = (0, [:])
                    while true {
                        let isLast = isOver.value
                        guard
                            case .missed(let missed) = try await fixture.ana.conversations.changes(
                                fixture.token,
                                after: after
                            )
                        else { throw TestSupportError("resync") }
                        for message in missed.messages {
                            // No change is late: every change number is higher than all earlier ones.
                            if message.change <= after { throw TestSupportError("a change was late") }
                            known[message.seq] = message
                        }
                        after = missed.change
                        if isLast, !missed.more { return known }
                    }
                }
                for _ in 0..<4 { _ = try await tasks.next() }
                isOver.change { $0 = true }
                return try await tasks.next() ?? nil
            }

            #expect(known?.keys.sorted() == Array(1...160))
            #expect(Set(known?.values.map(\.data) ?? []).count == 160)
        }
    }
}
