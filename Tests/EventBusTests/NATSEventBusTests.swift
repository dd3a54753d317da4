import EventBus
import TestSupport
import Testing

/// The bus over NATS, on a real server.
@Suite struct NATSEventBusTests {
    @Test func publishAndSubscribe() async throws {
        try await withBuses { one, two, server in
            let stranger = try NATSEventBus(url: server.url, name: "stranger", logger: silent)
            let (here, there, strange) = (
                TestSubscriber(one), TestSubscriber(two, ["news", "other"]), TestSubscriber(stranger)
            )
            for hearing in [here, there, strange] { try await hearing.untilMissed() }

            for number in 0..<500 { one.publish("\(number)", on: "news") }
            one.publish("☂️ \" \\", on: "other")

            try await eventually { there.texts.count == 501 }
            #expect(there.texts.filter { $0 != "☂️ \" \\" } == (0..<500).map(String.init))
            two.publish("back", on: "news")
            try await eventually { here.texts == ["back"] }
            #expect(strange.texts.isEmpty)
            await stranger.shutdown()
        }
    }

    @Test func serverRestart() async throws {
        try await withBuses { one, two, server in
            let there = TestSubscriber(two)
            try await there.untilMissed()
            for round in 1...3 {
                await server.kill()
                // Said while nobody carries it: it may be lost, and takes no time.
                for number in 0..<1_000 { one.publish("lost \(number)", on: "news") }
                let misses = there.misses
                try await server.start()
                try await there.untilMissed(misses + 1)
                try await eventually {
                    one.publish("round \(round)", on: "news", replacing: "round")
                    return there.texts.contains("round \(round)")
                }
            }
        }
    }

    @Test func aBusWaitsForAServerThatIsNotThereYet() async throws {
        try await NATSServer.with(isStarted: false) { server in
            let one = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let two = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let there = TestSubscriber(two)
            one.publish("early", on: "news")

            try await server.start()

            try await there.untilMissed()
            try await untilReceived(there, from: one)
            await one.shutdown()
            await two.shutdown()
        }
    }

    @Test func slowServer() async throws {
        try await NATSServer.with { server in
            try await server.pause()
            let log = Log()
            let one = try NATSEventBus(url: server.url, name: "test", logger: log.logger)
            let two = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let there = TestSubscriber(two)
            try await log.until("nats connection failed")

            server.resume()

            try await there.untilMissed()
            try await untilReceived(there, from: one)
            await one.shutdown()
            await two.shutdown()
        }
    }

    @Test func reauthentication() async throws {
        try await NATSServer.with { server in
            let log = Log()
            let one = try NATSEventBus(url: server.url, name: "test", logger: silent)
            let two = try NATSEventBus(url: server.url, name: "test", logger: log.logger)
            let there = TestSubscriber(two)
            try await there.untilMissed()
            let misses = there.misses
            await server.kill()
            try await server.start(["--user", "ana", "--pass", "secret"])
            try await log.until("nats connection closed")
            try await log.until("nats connection failed")

            await server.kill()
            try await server.start()

            try await there.untilMissed(misses + 1)
            try await untilReceived(there, from: one)
            await one.shutdown()
            await two.shutdown()
        }
    }

    @Test func overflowWhileDisconnected() async throws {
        try await withBuses { one, two, server in
            let there = TestSubscriber(two)
            try await there.untilMissed()
            await server.kill()
            let text = String(repeating: "x", count: 4_000)
            for number in 0..<2_000 { one.publish("\(number) \(text)", on: "news") }
            let misses = there.misses
            try await server.start()
            try await there.untilMissed(misses + 1)
            try await eventually {
                one.publish("on", on: "news", replacing: "on")
                return there.texts.contains("on")
            }
            #expect(there.texts.count < 1_000)
        }
    }

    @Test func aFloodIsFoldedAndArrives() async throws {
        try await withBuses { one, two, _ in
            let there = TestSubscriber(two)
            try await there.untilMissed()
            for round in 0..<1_000 {
                for thing in 0..<100 { one.publish("\(thing) \(round)", on: "news", replacing: "\(thing)") }
            }
            try await eventually {
                one.publish("end", on: "news", replacing: "end")
                return there.texts.last == "end"
            }
            // All that counts, unless it was told on the way that something is missing.
            let hasMissed = there.events.drop { $0 == .missed }.contains(.missed)
            #expect(hasMissed || Set(there.texts).isSuperset(of: (0..<100).map { "\($0) 999" }))
        }
    }

    @Test func slowSubscriber() async throws {
        try await withBuses { one, two, _ in
            let fast = TestSubscriber(two)
            try await fast.untilMissed()
            var iterator = two.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await iterator.next() == .missed)
            // A payload each: more than the buffer of whoever does not listen.
            let count = EventBusLimits.maximumUndelivered + 100
            for number in 0..<count {
                one.publish("\(number)", on: "news")
                try await eventually { fast.texts.count == number + 1 }
            }

            // That it is connected it may be told twice, which takes a place, and late.
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
            // Each subscription has a thread of its own: this one's may be behind, and bring the end of it only now.
            let late = Set((received.count..<count).map { EventBusEvent.message(topic: "news", text: "\($0)") })
            var event = await iterator.next()
            while let received = event, received == .missed || late.contains(received) { event = await iterator.next() }
            #expect(event == .message(topic: "news", text: "on"))
        }
    }

    @Test func afterShutdown() async throws {
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

    @Test(arguments: ["", "127.0.0.1:4222", "http://127.0.0.1", "nats://", "nats://a,ftp://b", "nats://a, ,nats://b"])
    func malformedURL(url: String) {
        #expect(throws: NATSError.self) { try NATSEventBus(url: url, name: "x", logger: silent) }
    }

    private func untilReceived(_ there: TestSubscriber, from bus: NATSEventBus) async throws {
        try await eventually("heard") {
            bus.publish("hello", on: "news", replacing: "hello")
            return there.texts.contains("hello")
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
