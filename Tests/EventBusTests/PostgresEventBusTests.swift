import EventBus
import Foundation
import Postgres
import TestSupport
import Testing

/// The event bus over LISTEN and NOTIFY, on a real server.
@Suite("Event bus over PostgreSQL") struct PostgresEventBusTests {
    @Test("Subscribers of a topic receive its messages in order")
    func publishAndSubscribe() async throws {
        try await withBuses { one, two, _ in
            let (first, second, third) = (
                TestSubscriber(one), TestSubscriber(two, ["news", "other"]), TestSubscriber(two, ["other"])
            )
            for subscriber in [first, second, third] { try await subscriber.untilMissed() }

            for number in 0..<500 { one.publish("\(number)", on: "news") }
            one.publish("end", on: "other")

            try await eventually { second.texts.count == 501 }
            #expect(second.texts.filter { $0 != "end" } == (0..<500).map(String.init))
            try await eventually { third.texts == ["end"] }
            two.publish("back", on: "news")
            try await eventually { first.texts == ["back"] }
        }
    }

    @Test("Buses of another name receive nothing")
    func otherName() async throws {
        try await withBuses { one, two, database in
            let other = PostgresEventBus(pool: database.pool, name: "other", logger: silent)
            let (first, second) = (TestSubscriber(two), TestSubscriber(other))
            for subscriber in [first, second] { try await subscriber.untilMissed() }
            one.publish("1", on: "news")
            try await eventually { first.texts == ["1"] }
            let again = PostgresEventBus(pool: database.pool, name: "other", logger: silent)
            again.publish("2", on: "news")
            try await eventually { second.texts == ["2"] }
        }
    }

    @Test("Any text arrives unchanged")
    func anyText() async throws {
        try await withBuses { one, two, _ in
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            let texts = ["'; DROP TABLE x; --", "☂️ 日本語", "\\x00 \t \"", String(repeating: "é", count: 2_048)]
            for text in texts { one.publish(text, on: "news") }
            try await eventually { subscriber.texts == texts }
        }
    }

    @Test("Of a flood, the newest message of each key arrives")
    func flood() async throws {
        try await withBuses { one, two, database in
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            for round in 0..<200 {
                for thing in 0..<100 { one.publish("\(thing) \(round)", on: "news", replacing: "\(thing)") }
            }
            try await eventually { Set(subscriber.texts).isSuperset(of: (0..<100).map { "\($0) 199" }) }
            #expect(subscriber.texts.count < 20_000, "waiting messages of one key are replaced")
            #expect(subscriber.misses == 1)
        }
    }

    @Test("After its connection was terminated a subscriber is told that it missed messages, and goes on")
    func terminatedConnections() async throws {
        try await withBuses { one, two, database in
            let subscriber = TestSubscriber(two)
            try await subscriber.untilMissed()
            for round in 1...3 {
                try await database.cutConnections()
                try await subscriber.untilMissed(round + 1)
                // The publisher may have to reconnect as well; then it reports that a message was lost.
                let before = subscriber.events.count
                one.publish("round \(round)", on: "news")
                try await eventually { subscriber.events.count > before }
                // The event may be another one, while the publisher is still reconnecting.
                try await eventually {
                    one.publish("after \(round)", on: "news", replacing: "after")
                    return subscriber.texts.contains("after \(round)")
                }
            }
        }
    }

    @Test("A slow subscriber misses messages and is told so")
    func slowSubscriber() async throws {
        let buffer = 64
        try await withBuses(notificationBuffer: buffer) { one, two, _ in
            var iterator = two.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await iterator.next() == .missed)
            let (fast, text) = (TestSubscriber(two), String(repeating: "x", count: 4_000))
            try await fast.untilMissed()
            var received: [EventBusEvent] = []
            var count = 0
            // Repeated if a slow backend delivered the messages no faster than they were taken.
            while received.last != .missed {
                // One payload each, and more of them than the subscriber's buffer holds.
                for number in 0..<buffer + 100 {
                    one.publish("\(count) \(text)", on: "news")
                    count += 1
                    let published = count
                    if number % 50 == 0 { try await eventually { fast.texts.count == published } }
                }
                let published = count
                try await eventually { fast.texts.count == published }
                while received.last != .missed, received.count < count {
                    guard let event = await iterator.next() else { throw TestSupportError("it has ended") }
                    received.append(event)
                }
            }
            let whole = (0..<received.count - 1).map { EventBusEvent.message(topic: "news", text: "\($0) \(text)") }
            #expect(received == whole + [.missed])

            let on = EventBusEvent.message(topic: "news", text: "on")
            one.publish("on", on: "news")
            while received.last != on {
                guard let event = await iterator.next() else { throw TestSupportError("it has ended") }
                received.append(event)
                // The message may be among those that were missed.
                if event == .missed { one.publish("on", on: "news") }
            }
            #expect(received.count { $0 != .missed && $0 != on } < count)
        }
    }

    @Test("A subscription ends with its pool")
    func poolShutdown() async throws {
        try await TestDatabase.with(migrations: []) { database in
            let pool = PostgresPool(configuration: database.configuration, logger: silent)
            let bus = PostgresEventBus(pool: pool, name: database.busName, logger: silent)
            var iterator = bus.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await iterator.next() == .missed)
            await pool.shutdown()
            #expect(await iterator.next() == nil)
            bus.publish("1", on: "news")
            await bus.shutdown()
        }
    }

    private func withBuses(
        notificationBuffer: Int = 4_096,
        _ body: (PostgresEventBus, PostgresEventBus, TestDatabase) async throws -> Void
    ) async throws {
        try await TestDatabase.with(migrations: []) { database in
            var configuration = database.configuration
            configuration.notificationBuffer = notificationBuffer
            let pool = PostgresPool(configuration: configuration, logger: silent)
            let buses = (0..<2).map { _ in PostgresEventBus(pool: pool, name: database.busName, logger: silent) }
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(buses[0], buses[1], database))
            } catch {
                outcome = .failure(error)
            }
            await pool.shutdown()
            try outcome.get()
        }
    }
}

extension TestDatabase {
    var busName: String { configuration.schema ?? "" }

    func cutConnections() async throws {
        _ = try await pool.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = \(configuration.applicationName) AND pid <> pg_backend_pid()
            """
        )
    }
}
