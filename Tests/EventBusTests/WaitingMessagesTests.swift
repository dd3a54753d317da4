import Testing

@testable import EventBus

/// The queue of outgoing messages: replacement, batching and limits.
@Suite("Outgoing messages") struct WaitingMessagesTests {
    let waiting = OutgoingMessages(sender: "me", metrics: EventBusMetrics(kind: "test"))

    @Test("Waiting messages are sent together and in order")
    func batching() {
        #expect(waiting.add("1", on: "a", replacing: nil))
        #expect(!waiting.add("2", on: "a", replacing: nil))
        #expect(!waiting.add("1", on: "b", replacing: nil))
        #expect(!waiting.add("3", on: "a", replacing: nil))

        #expect(
            waiting.take(maximumPayload: 100) == [
                EventPayload(topic: "a", text: "me\n1\n2\n3"), EventPayload(topic: "b", text: "me\n1"),
            ]
        )
        #expect(!waiting.add("4", on: "a", replacing: nil), "the taker is still sending")
        #expect(waiting.take(maximumPayload: 100) == [EventPayload(topic: "a", text: "me\n4")])
        #expect(waiting.take(maximumPayload: 100) == nil)
        #expect(waiting.add("5", on: "a", replacing: nil))
    }

    @Test("A waiting message with the same key is replaced")
    func replacement() {
        for number in 1...1_000 { _ = waiting.add("7 \(number)", on: "a", replacing: "7") }
        _ = waiting.add("8 1", on: "a", replacing: "8")
        _ = waiting.add("7 x", on: "b", replacing: "7")
        #expect(
            waiting.take(maximumPayload: 100) == [
                EventPayload(topic: "a", text: "me\n7 1000\n8 1"), EventPayload(topic: "b", text: "me\n7 x"),
            ]
        )
    }

    @Test("A payload has a limit, and the sender ignores its own payloads")
    func payloadLimit() throws {
        for number in 0..<100 { _ = waiting.add("message \(number)", on: "a", replacing: nil) }
        let payloads = try #require(waiting.take(maximumPayload: 64))
        #expect(payloads.allSatisfy { $0.text.utf8.count <= 64 })
        #expect(payloads.flatMap { $0.events(receivedBy: "you") }.count == 100)
        #expect(payloads.flatMap { $0.events(receivedBy: "me") }.isEmpty)
    }

    @Test("An empty, multi-line or too long message is not sent")
    func unsendableMessages() {
        let long = String(repeating: "x", count: EventBusLimits.message + 1)
        for text in ["", "a\nb", "\0", long] { #expect(!waiting.add(text, on: "a", replacing: nil)) }
        #expect(waiting.take(maximumPayload: 10_000) == nil)
        #expect(waiting.add(String(long.dropLast()), on: "a", replacing: nil))
    }

    @Test("Messages beyond the limit are dropped and reported as missed once", arguments: [1, 1_000])
    func overflow(length: Int) throws {
        let text = String(repeating: "x", count: length)
        for _ in 0...EventBusLimits.waitingMessages { _ = waiting.add(text, on: "a", replacing: nil) }
        let payloads = try #require(waiting.take(maximumPayload: 7_900))
        let events = payloads.flatMap { $0.events(receivedBy: "you") }
        #expect(events.first == .missed)
        #expect(events.count(where: { $0 == .missed }) == 1)
        #expect(payloads.map(\.text.utf8.count).reduce(0, +) <= EventBusLimits.waitingBytes)
    }

    @Test("Messages of a failed send are reported as missed")
    func failedSend() {
        _ = waiting.add("1", on: "a", replacing: nil)
        waiting.drop(waiting.take(maximumPayload: 100) ?? [])
        _ = waiting.add("2", on: "a", replacing: nil)
        let events = waiting.take(maximumPayload: 100)?.flatMap { $0.events(receivedBy: "you") }
        #expect(events == [.missed, .message(topic: "a", text: "2")])
    }

    @Test("A paused queue resumes once, and only if messages wait")
    func resumption() {
        _ = waiting.add("1", on: "a", replacing: nil)
        waiting.pause(dropping: waiting.take(maximumPayload: 100) ?? [])
        #expect(waiting.resume())
        #expect(!waiting.resume())
        #expect(waiting.take(maximumPayload: 100)?.count == 1)
        #expect(waiting.take(maximumPayload: 100) == nil)
        #expect(!waiting.resume())
    }

    @Test("A closed queue takes no messages")
    func closed() {
        waiting.close()
        #expect(!waiting.add("1", on: "a", replacing: nil))
        #expect(waiting.take(maximumPayload: 100) == nil)
    }
}
