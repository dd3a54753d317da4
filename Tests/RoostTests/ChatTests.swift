import ConversationsAPI
import Foundation
import Testing
import Wire

@testable import roost

@Suite("Chat history") struct ChatRecordTests {
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

    private static func begun(with count: Int64) -> ChatHistory {
        var history = ChatHistory()
        _ = history.begin((1...count).reversed().map { message($0) })
        _ = history.catchUp(Changes.Missed(messages: [], reads: nil, change: count, more: false))
        return history
    }

    @Test("A history begins with the oldest message and is behind until it has caught up")
    func oldestFirst() {
        var history = ChatHistory()
        #expect(
            history.begin([Self.message(6), Self.message(5)]) == [.added(Self.message(5)), .added(Self.message(6))]
        )
        #expect(history.isBehind)
        #expect(history.change == 6)
    }

    @Test("A message that arrives several times is added once")
    func duplicates() {
        var history = Self.begun(with: 2)
        #expect(history.acknowledge(Self.message(3)) == [.added(Self.message(3))])
        #expect(history.receive(Self.message(3)) == [])
        let missed = Changes.Missed(messages: [Self.message(2), Self.message(3)], reads: nil, change: 3, more: false)
        #expect(history.catchUp(missed) == [])
        #expect(!history.isBehind)
    }

    @Test("A message after a gap waits for the missing ones")
    func gap() {
        var history = Self.begun(with: 2)
        #expect(history.receive(Self.message(4)) == [])
        #expect(history.isBehind)
        #expect(history.change == 2)
        let missed = Changes.Missed(messages: [Self.message(3), Self.message(4)], reads: nil, change: 4, more: false)
        #expect(history.catchUp(missed) == [.added(Self.message(3)), .added(Self.message(4))])
        #expect(history.change == 4)
    }

    /// Earlier messages of other users may still be missing.
    @Test("An acknowledged message does not advance the position")
    func acknowledgement() {
        var history = Self.begun(with: 2)
        _ = history.acknowledge(Self.message(3, change: 9))
        #expect(history.change == 2)
    }

    /// A message that was edited comes on a later page and is still shown at its position.
    @Test("Messages of several pages are shown in order")
    func orderOfPages() {
        var history = Self.begun(with: 2)
        history.markBehind()
        let first = Changes.Missed(messages: [Self.message(4)], reads: nil, change: 4, more: true)
        #expect(history.catchUp(first) == [])
        let edited = Self.message(3, change: 5, "edited")
        let second = Changes.Missed(messages: [edited], reads: nil, change: 5, more: false)
        #expect(history.catchUp(second) == [.added(edited), .added(Self.message(4))])
    }

    @Test("An edit is shown, and a change without visible effect is not")
    func visibleChange() {
        var history = Self.begun(with: 2)
        let edited = Self.message(2, change: 3, "edited")
        #expect(history.receive(edited) == [.changed(edited)])
        #expect(history.receive(Self.message(2, change: 4, "edited")) == [])
        #expect(history.change == 4)
    }
}

@Suite("Plain text") struct PlainTextTests {
    @Test(
        "Control characters are shown as escapes",
        arguments: [
            ("\u{1B}]0;title\u{07}", "\\u{1b}]0;title\\u{7}"), ("a\u{9B}2Jb", "a\\u{9b}2Jb"),
            ("two\r\nlines", "two\\u{d}⏎ lines"),
            ("\u{202E}gpj.exe", "\\u{202e}gpj.exe"), ("a\u{7F}\u{0}", "a\\u{7f}\\u{0}"), ("a\u{2028}b", "a\\u{2028}b"),
            ("naïve 😀 👨‍👩‍👧 日本", "naïve 😀 👨‍👩‍👧 日本"),
        ]
    )
    func controlCharacters(text: String, plain: String) {
        #expect(PlainText.of(text) == plain)
    }
}

@Suite("Line input") struct LineInputTests {
    @Test("Lines are read from pieces, and one that is too long is reported")
    func longLines() async throws {
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
            // The descriptor is open, so closing does not fail.
            try? pipe.fileHandleForWriting.close()
        }
        #expect(await lines.next() == .text(long))
        #expect(await lines.next() == .tooLong)
        #expect(await lines.next() == .tooLong)
        #expect(await lines.next() == .text("last"))
        #expect(await lines.next() == nil)
    }
}
