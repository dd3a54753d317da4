import Testing

@testable import EventBus

/// What waits to be sent: how it is folded, and where it ends.
@Suite struct WaitingMessagesTests {
    let waiting = OutgoingMessages(sender: "me", metrics: EventBusMetrics(kind: "test"))

    @Test func messagesThatWaitTravelTogetherInTheirOrder() {
        #expect(waiting.add("1", on: "a", replacing: nil))
        #expect(!waiting.add("2", on: "a", replacing: nil))
        #expect(!waiting.add("1", on: "b", replacing: nil))
        #expect(!waiting.add("3", on: "a", replacing: nil))

        #expect(
            waiting.take(maximumPayload: 100) == [
                EventPayload(topic: "a", text: "me\n1\n2\n3"), EventPayload(topic: "b", text: "me\n1"),
            ]
        )
        #expect(!waiting.add("4", on: "a", replacing: nil), "whoever took is sending still")
        #expect(waiting.take(maximumPayload: 100) == [EventPayload(topic: "a", text: "me\n4")])
        #expect(waiting.take(maximumPayload: 100) == nil)
        #expect(waiting.add("5", on: "a", replacing: nil))
    }

    @Test func replacement() {
        for number in 1...1_000 { _ = waiting.add("7 \(number)", on: "a", replacing: "7") }
        _ = waiting.add("8 1", on: "a", replacing: "8")
        _ = waiting.add("7 x", on: "b", replacing: "7")
        #expect(
            waiting.take(maximumPayload: 100) == [
                EventPayload(topic: "a", text: "me\n7 1000\n8 1"), EventPayload(topic: "b", text: "me\n7 x"),
            ]
        )
    }

    @Test func aPayloadHasItsBound() throws {
        for number in 0..<100 { _ = waiting.add("message \(number)", on: "a", replacing: nil) }
        let payloads = try #require(waiting.take(maximumPayload: 64))
        #expect(payloads.allSatisfy { $0.text.utf8.count <= 64 })
        #expect(payloads.flatMap { $0.events(receivedBy: "you") }.count == 100)
        #expect(payloads.flatMap { $0.events(receivedBy: "me") }.isEmpty)
    }

    @Test func unsendableMessages() {
        let long = String(repeating: "x", count: EventBusLimits.message + 1)
        for text in ["", "a\nb", "\0", long] { #expect(!waiting.add(text, on: "a", replacing: nil)) }
        #expect(waiting.take(maximumPayload: 10_000) == nil)
        #expect(waiting.add(String(long.dropLast()), on: "a", replacing: nil))
    }

    @Test(arguments: [1, 1_000])
    func overflow(length: Int) throws {
        let text = String(repeating: "x", count: length)
        for _ in 0...EventBusLimits.waitingMessages { _ = waiting.add(text, on: "a", replacing: nil) }
        let payloads = try #require(waiting.take(maximumPayload: 7_900))
        let events = payloads.flatMap { $0.events(receivedBy: "you") }
        #expect(events.first == .missed)
        #expect(events.count(where: { $0 == .missed }) == 1)
        #expect(payloads.map(\.text.utf8.count).reduce(0, +) <= EventBusLimits.waitingBytes)
    }

    @Test func failedSend() {
        _ = waiting.add("1", on: "a", replacing: nil)
        waiting.drop(waiting.take(maximumPayload: 100) ?? [])
        _ = waiting.add("2", on: "a", replacing: nil)
        let events = waiting.take(maximumPayload: 100)?.flatMap { $0.events(receivedBy: "you") }
        #expect(events == [.missed, .message(topic: "a", text: "2")])
    }

    @Test func aSendingThatStoppedIsResumed() {
        _ = waiting.add("1", on: "a", replacing: nil)
        waiting.pause(dropping: waiting.take(maximumPayload: 100) ?? [])
        #expect(waiting.resume())
        #expect(!waiting.resume())
        #expect(waiting.take(maximumPayload: 100)?.count == 1)
        #expect(waiting.take(maximumPayload: 100) == nil)
        #expect(!waiting.resume())
    }

    @Test func closed() {
        waiting.close()
        #expect(!waiting.add("1", on: "a", replacing: nil))
        #expect(waiting.take(maximumPayload: 100) == nil)
    }
}
