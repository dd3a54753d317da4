import EventBus
import TestSupport
import Testing

/// The event bus over NATS, on a real server.
@Suite("Event bus over NATS") struct NATSEventBusTests {
    @Test("Subscribers of a topic receive its messages in order; buses with another name receive none")
    func publishAndSubscribe() async throws {
        try await withBuses { one, two, server in
            let other = try NATSEventBus(url: server.url, name: "other", logger: silent)
            let (first, second, third) = (
                TestSubscriber(one), TestSubscriber(two, ["news", "other"]), TestSubscriber(other)
            )
            for subscriber in [first, second, third] { try await subscriber.untilMissed() }

            for number in 0..<500 { one.publish("\(number)", on: "news") }
            one.publish("☂️ \" \\", on: "other")

            try await eventually { second.texts.count == 501 }
            #expect(second.texts.filter { $0 != "☂️ \" \\" } == (0..<500).map(String.init))
            two.publish("back", on: "news")
            try await eventually { first.texts == ["back"] }
            #expect(third.texts.isEmpty)
            await other.shutdown()
        }
    }

    @Test("After a restart of the server, subscribers are notified of a loss and receive later messages")
    func serverRestart() async throws {
        try await withBuses { one, two, server in
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            for round in 1...3 {
                await server.kill()
                // Without a server, messages may be lost, and publishing does not wait.
                for number in 0..<1_000 { one.publish("lost \(number)", on: "news") }
                let misses = subscriber.misses
                try await server.start()
                try await subscriber.untilMissed(misses + 1)
                try await eventually {
                    one.publish("round \(round)", on: "news", replacing: "round")
                    return subscriber.texts.contains("round \(round)")
                }
            }
        }
    }

    @Test("A bus waits for a server that has not started yet")
    func lateServer() async throws {
        try await NATSServer.with(isStarted: false) { server in
            let one = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let two = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let subscriber = TestSubscriber(two)
            one.publish("early", on: "news")

            try await server.start()

            try await subscriber.untilMissed()
            try await untilReceived(subscriber, from: one)
            await one.shutdown()
            await two.shutdown()
        }
    }

    @Test("A connection that times out is retried")
    func slowServer() async throws {
        try await NATSServer.with { server in
            try await server.pause()
            let log = Log()
            let one = try NATSEventBus(url: server.url, name: "test", logger: log.logger)
            let two = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let subscriber = TestSubscriber(two)
            try await log.until("nats connection failed")

            server.resume()

            try await subscriber.untilMissed()
            try await untilReceived(subscriber, from: one)
            await one.shutdown()
            await two.shutdown()
        }
    }

    @Test("A bus that the server rejects reconnects once it is accepted again")
    func reauthentication() async throws {
        try await NATSServer.with { server in
            let log = Log()
            let one = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let two = try NATSEventBus(url: server.url, name: "test", logger: log.logger)
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            let misses = subscriber.misses
            await server.kill()
            try await server.start(["--user", "ana", "--pass", "secret"])
            try await log.until("nats connection closed")
            try await log.until("nats connection failed")

            await server.kill()
            try await server.start()

            try await subscriber.untilMissed(misses + 1)
            try await untilReceived(subscriber, from: one)
            await one.shutdown()
            await two.shutdown()
        }
    }

    @Test("Messages beyond the buffer of a disconnected bus are dropped and reported as missed")
    func overflowWhileDisconnected() async throws {
        try await withBuses { one, two, server in
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            await server.kill()
            let text = String(repeating: "x", count: 4_000)
            for number in 0..<2_000 { one.publish("\(number) \(text)", on: "news") }
            let misses = subscriber.misses
            try await server.start()
            try await subscriber.untilMissed(misses + 1)
            try await eventually {
                one.publish("on", on: "news", replacing: "on")
                return subscriber.texts.contains("on")
            }
            #expect(subscriber.texts.count < 1_000)
        }
    }

    @Test("During a flood of messages, the newest message of each key arrives")
    func flood() async throws {
        try await withBuses { one, two, _ in
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            for round in 0..<1_000 {
                for thing in 0..<100 { one.publish("\(thing) \(round)", on: "news", replacing: "\(thing)") }
            }
            try await eventually {
                one.publish("end", on: "news", replacing: "end")
                return subscriber.texts.last == "end"
            }
            // Every key's last message arrives, unless the subscriber was notified of a loss.
            let hasMissed = subscriber.events.drop { $0 == .missed }.contains(.missed)
            #expect(hasMissed || Set(subscriber.texts).isSuperset(of: (0..<100).map { "\($0) 999" }))
        }
    }

    @Test("A slow subscriber loses messages and is notified of the loss")
    func slowSubscriber() async throws {
        try await withBuses { one, two, _ in
            let fast = TestSubscriber(two)
            try await fast.untilMissed()
            var iterator = two.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await iterator.next() == .missed)
            // One payload each, and more of them than the subscriber's buffer holds.
            let count = EventBusLimits.maximumUndelivered + 100
            for number in 0..<count {
                one.publish("\(number)", on: "news")
                try await eventually { fast.texts.count == number + 1 }
            }

            // The notice of the new connection may arrive late or twice; a second notice takes a slot of the buffer.
            var received: [String] = []
            reading: while let event = await iterator.next() {
                switch event {
                case .message(_, let text): received.append(text)
                case .missed: if received.count > EventBusLimits.maximumUndelivered - 8 { break reading }
                }
            }
            #expect(
                (EventBusLimits.maximumUndelivered - 1...EventBusLimits.maximumUndelivered).contains(received.count)
            )
            #expect(received == (0..<received.count).map(String.init))
            one.publish("on", on: "news")
            // Each subscription has its own thread, so this one may deliver its last messages only now.
            let late = Set((received.count..<count).map { EventBusEvent.message(topic: "news", text: "\($0)") })
            var event = await iterator.next()
            while let received = event, received == .missed || late.contains(received) { event = await iterator.next() }
            #expect(event == .message(topic: "news", text: "on"))
        }
    }

    @Test("After shutdown subscriptions end and publishing does nothing")
    func afterShutdown() async throws {
        try await withBuses { one, two, _ in
            var iterator = two.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await iterator.next() == .missed)
            await two.shutdown()
            while let event = await iterator.next() { #expect(event == .missed) }
            var late = two.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await late.next() == nil)
            two.publish("1", on: "news")
            await two.shutdown()
            one.publish("2", on: "news")
        }
    }

    @Test(
        "A malformed URL is refused",
        arguments: ["", "127.0.0.1:4222", "http://127.0.0.1", "nats://", "nats://a,ftp://b", "nats://a, ,nats://b"]
    )
    func malformedURL(url: String) {
        #expect(throws: NATSError.self) { try NATSEventBus(url: url, name: "x", logger: silent) }
    }

    private func untilReceived(_ subscriber: TestSubscriber, from bus: NATSEventBus) async throws {
        try await eventually("received") {
            bus.publish("hello", on: "news", replacing: "hello")
            return subscriber.texts.contains("hello")
        }
    }

    private func withBuses(_ body: (NATSEventBus, NATSEventBus, NATSServer) async throws -> Void) async throws {
        try await NATSServer.with { server in
            let one = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let two = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(one, two, server))
            } catch {
                outcome = .failure(error)
            }
            await one.shutdown()
            await two.shutdown()
            try outcome.get()
        }
    }
}
