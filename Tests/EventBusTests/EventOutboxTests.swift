import Testing

@testable import EventBus

/// What waits to be sent: how it is folded, and where it ends.
@Suite struct EventOutboxTests {
    let outbox = EventOutbox(sender: "me", metrics: EventBusMetrics(kind: "test"))

    @Test func messagesThatWaitTravelTogetherInTheirOrder() {
        #expect(outbox.add("1", on: "a", replacing: nil))
        #expect(!outbox.add("2", on: "a", replacing: nil))
        #expect(!outbox.add("1", on: "b", replacing: nil))
        #expect(!outbox.add("3", on: "a", replacing: nil))

        #expect(
            outbox.take(maximumPayload: 100) == [
                EventPayload(topic: "a", text: "me\n1\n2\n3"), EventPayload(topic: "b", text: "me\n1"),
            ]
        )
        #expect(!outbox.add("4", on: "a", replacing: nil), "whoever took is sending still")
        #expect(outbox.take(maximumPayload: 100) == [EventPayload(topic: "a", text: "me\n4")])
        #expect(outbox.take(maximumPayload: 100) == nil)
        #expect(outbox.add("5", on: "a", replacing: nil))
    }

    @Test func aNewerOneTakesThePlaceOfOneAboutTheSame() {
        for number in 1...1_000 { _ = outbox.add("7 \(number)", on: "a", replacing: "7") }
        _ = outbox.add("8 1", on: "a", replacing: "8")
        _ = outbox.add("7 x", on: "b", replacing: "7")
        #expect(
            outbox.take(maximumPayload: 100) == [
                EventPayload(topic: "a", text: "me\n7 1000\n8 1"), EventPayload(topic: "b", text: "me\n7 x"),
            ]
        )
    }

    @Test func aPayloadHasItsBound() throws {
        for number in 0..<100 { _ = outbox.add("message \(number)", on: "a", replacing: nil) }
        let payloads = try #require(outbox.take(maximumPayload: 64))
        #expect(payloads.allSatisfy { $0.text.utf8.count <= 64 })
        #expect(payloads.flatMap { $0.events(heardBy: "you") }.count == 100)
        #expect(payloads.flatMap { $0.events(heardBy: "me") }.isEmpty)
    }

    @Test func whatCannotBeCarriedIsDropped() {
        let long = String(repeating: "x", count: EventBusLimits.message + 1)
        for text in ["", "a\nb", "\0", long] { #expect(!outbox.add(text, on: "a", replacing: nil)) }
        #expect(outbox.take(maximumPayload: 10_000) == nil)
        #expect(outbox.add(String(long.dropLast()), on: "a", replacing: nil))
    }

    @Test(arguments: [1, 1_000])
    func atTheBoundAllIsDroppedAndTheOthersAreTold(length: Int) throws {
        let text = String(repeating: "x", count: length)
        for _ in 0...EventBusLimits.waitingMessages { _ = outbox.add(text, on: "a", replacing: nil) }
        let payloads = try #require(outbox.take(maximumPayload: 7_900))
        let events = payloads.flatMap { $0.events(heardBy: "you") }
        #expect(events.first == .missed)
        #expect(events.count(where: { $0 == .missed }) == 1)
        #expect(payloads.map(\.text.utf8.count).reduce(0, +) <= EventBusLimits.waitingBytes)
    }

    @Test func whatCouldNotBeSentIsMissed() {
        _ = outbox.add("1", on: "a", replacing: nil)
        outbox.lose(outbox.take(maximumPayload: 100) ?? [])
        _ = outbox.add("2", on: "a", replacing: nil)
        let events = outbox.take(maximumPayload: 100)?.flatMap { $0.events(heardBy: "you") }
        #expect(events == [.missed, .message(topic: "a", text: "2")])
    }

    @Test func aSendingThatStoppedIsResumed() {
        _ = outbox.add("1", on: "a", replacing: nil)
        outbox.pause(losing: outbox.take(maximumPayload: 100) ?? [])
        #expect(outbox.resume())
        #expect(!outbox.resume())
        #expect(outbox.take(maximumPayload: 100)?.count == 1)
        #expect(outbox.take(maximumPayload: 100) == nil)
        #expect(!outbox.resume())
    }

    @Test func whatIsClosedTakesNothing() {
        outbox.close()
        #expect(!outbox.add("1", on: "a", replacing: nil))
        #expect(outbox.take(maximumPayload: 100) == nil)
    }
}
