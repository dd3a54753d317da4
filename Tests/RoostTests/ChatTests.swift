import ConversationsAPI
import Foundation
import Testing
import Wire

@testable import roost

@Suite struct ChatRecordTests {
    private static func message(_ seq: Int64, change: Int64? = nil, _ data: String? = nil) -> Message {
        Message(
            chatId: Conversation.ID(1),
            seq: seq,
            change: change ?? seq,
            data: data ?? "message \(seq)",
            mime: "text/plain",
            encoding: "utf8",
            meta: nil,
            createdAt: Date(timeIntervalSince1970: 0),
            senderUser: nil,
            reads: nil,
            clientMessageId: nil
        )
    }

    private static func begun(with count: Int64) -> ChatRecord {
        var record = ChatRecord()
        _ = record.begin((1...count).reversed().map { message($0) })
        _ = record.catchUp(Changes.Missed(messages: [], reads: nil, change: count, more: false))
        return record
    }

    @Test func theLatestAreShownOldestFirst() {
        var record = ChatRecord()
        #expect(record.begin([Self.message(6), Self.message(5)]) == [.said(Self.message(5)), .said(Self.message(6))])
        #expect(record.isBehind && record.change == 6)
    }

    @Test func whatComesTwiceIsShownOnce() {
        var record = Self.begun(with: 2)
        #expect(record.acknowledge(Self.message(3)) == [.said(Self.message(3))])
        #expect(record.hear(Self.message(3)) == [])
        let missed = Changes.Missed(messages: [Self.message(2), Self.message(3)], reads: nil, change: 3, more: false)
        #expect(record.catchUp(missed) == [])
        #expect(!record.isBehind)
    }

    @Test func aGapIsReadFromTheRecordFirst() {
        var record = Self.begun(with: 2)
        #expect(record.hear(Self.message(4)) == [])
        #expect(record.isBehind && record.change == 2)
        let missed = Changes.Missed(messages: [Self.message(3), Self.message(4)], reads: nil, change: 4, more: false)
        #expect(record.catchUp(missed) == [.said(Self.message(3)), .said(Self.message(4))])
        #expect(record.change == 4)
    }

    /// What others said before it may not have been told yet.
    @Test func anAcknowledgementDoesNotMoveThePlace() {
        var record = Self.begun(with: 2)
        _ = record.acknowledge(Self.message(3, change: 9))
        #expect(record.change == 2)
    }

    /// One that was changed later comes on a later page, and is still shown in its place.
    @Test func pagesAreByChangeAndTheScreenIsBySeq() {
        var record = Self.begun(with: 2)
        record.fallBehind()
        let first = Changes.Missed(messages: [Self.message(4)], reads: nil, change: 4, more: true)
        #expect(record.catchUp(first) == [])
        let edited = Self.message(3, change: 5, "edited")
        let second = Changes.Missed(messages: [edited], reads: nil, change: 5, more: false)
        #expect(record.catchUp(second) == [.said(edited), .said(Self.message(4))])
    }

    @Test func aChangeIsShownIfItCanBeSeen() {
        var record = Self.begun(with: 2)
        let edited = Self.message(2, change: 3, "edited")
        #expect(record.hear(edited) == [.changed(edited)])
        #expect(record.hear(Self.message(2, change: 4, "edited")) == [])
        #expect(record.change == 4)
    }
}

@Suite struct PlainTextTests {
    @Test(arguments: [
        ("\u{1B}]0;title\u{07}", "\\u{1b}]0;title\\u{7}"), ("a\u{9B}2Jb", "a\\u{9b}2Jb"),
        ("two\r\nlines", "two\\u{d}⏎ lines"),
        ("\u{202E}gpj.exe", "\\u{202e}gpj.exe"), ("a\u{7F}\u{0}", "a\\u{7f}\\u{0}"), ("a\u{2028}b", "a\\u{2028}b"),
        ("naïve 😀 👨‍👩‍👧 日本", "naïve 😀 👨‍👩‍👧 日本"),
    ])
    func nothingInItMovesTheCursor(text: String, plain: String) {
        #expect(PlainText.of(text) == plain)
    }
}

@Suite struct LineInputTests {
    @Test func linesAreTakenAsTheyComeAndTooLongOnesNot() async throws {
        let pipe = Pipe()
        let input = LineInput(descriptor: pipe.fileHandleForReading.fileDescriptor)
        var lines = input.lines.makeAsyncIterator()
        pipe.fileHandleForWriting.write(Data("one\r\n\n\ntwo\nth".utf8))
        #expect(await lines.next() == .text("one"))
        #expect(await lines.next() == .text("two"))
        pipe.fileHandleForWriting.write(Data("ree\n".utf8))
        #expect(await lines.next() == .text("three"))
        let long = String(repeating: "x", count: LineInput.limit)
        Thread.detachNewThread {
            pipe.fileHandleForWriting.write(Data("\(long)\n\(long)x\n\(long)\(long)\(long)\nlast".utf8))
            // Silence: it is open.
            try? pipe.fileHandleForWriting.close()
        }
        #expect(await lines.next() == .text(long))
        #expect(await lines.next() == .tooLong)
        #expect(await lines.next() == .tooLong)
        #expect(await lines.next() == .text("last"))
        #expect(await lines.next() == nil)
    }
}
