import EventBus
import Foundation
import Postgres
import TestSupport
import Testing

/// The bus over LISTEN and NOTIFY, on a real server.
@Suite struct PostgresEventBusTests {
    @Test func publishAndSubscribe() async throws {
        try await withBuses { one, two, _ in
            let (here, there, elsewhere) = (
                TestSubscriber(one), TestSubscriber(two, ["news", "other"]), TestSubscriber(two, ["other"])
            )
            for hearing in [here, there, elsewhere] { try await hearing.untilMissed() }

            for number in 0..<500 { one.publish("\(number)", on: "news") }
            one.publish("end", on: "other")

            try await eventually { there.texts.count == 501 }
            #expect(there.texts.filter { $0 != "end" } == (0..<500).map(String.init))
            try await eventually { elsewhere.texts == ["end"] }
            two.publish("back", on: "news")
            try await eventually { here.texts == ["back"] }
        }
    }

    @Test func busesOfAnotherNameHearNothing() async throws {
        try await withBuses { one, two, database in
            let stranger = PostgresEventBus(pool: database.pool, name: "stranger", logger: silent)
            let (there, strange) = (TestSubscriber(two), TestSubscriber(stranger))
            for hearing in [there, strange] { try await hearing.untilMissed() }
            one.publish("1", on: "news")
            try await eventually { there.texts == ["1"] }
            let again = PostgresEventBus(pool: database.pool, name: "stranger", logger: silent)
            again.publish("2", on: "news")
            try await eventually { strange.texts == ["2"] }
        }
    }

    @Test func anyTextComesAsItIs() async throws {
        try await withBuses { one, two, _ in
            let there = TestSubscriber(two)
            try await there.untilMissed()
            let texts = ["'; DROP TABLE x; --", "☂️ 日本語", "\\x00 \t \"", String(repeating: "é", count: 2_048)]
            for text in texts { one.publish(text, on: "news") }
            try await eventually { there.texts == texts }
        }
    }

    @Test func aFloodIsFoldedAndArrives() async throws {
        try await withBuses { one, two, database in
            let there = TestSubscriber(two)
            try await there.untilMissed()
            for round in 0..<200 {
                for thing in 0..<100 { one.publish("\(thing) \(round)", on: "news", replacing: "\(thing)") }
            }
            try await eventually { Set(there.texts).isSuperset(of: (0..<100).map { "\($0) 199" }) }
            #expect(there.texts.count < 20_000, "what waits for the one before is not sent twice")
            #expect(there.misses == 1)
        }
    }

    @Test func terminatedConnections() async throws {
        try await withBuses { one, two, database in
            let there = TestSubscriber(two)
            try await there.untilMissed()
            for round in 1...3 {
                try await database.cutConnections()
                try await there.untilMissed(round + 1)
                // The one who speaks may have to connect anew as well: then it says that something was lost.
                let before = there.events.count
                one.publish("round \(round)", on: "news")
                try await eventually { there.events.count > before }
                // Something else may have been told, and its connection not be anew yet.
                try await eventually {
                    one.publish("after \(round)", on: "news", replacing: "after")
                    return there.texts.contains("after \(round)")
                }
            }
        }
    }

    @Test func slowSubscriber() async throws {
        let buffer = 64
        try await withBuses(notificationBuffer: buffer) { one, two, _ in
            var iterator = two.subscribe(to: ["news"]).makeAsyncIterator()
            #expect(await iterator.next() == .missed)
            let (fast, text) = (TestSubscriber(two), String(repeating: "x", count: 4_000))
            try await fast.untilMissed()
            var received: [EventBusEvent] = []
            var count = 0
            // Once more where its backend was held up, and brought them all no sooner than they were taken.
            while received.last != .missed {
                // A payload each: more than the buffer of whoever does not listen.
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
                // It may be among what was missed.
                if event == .missed { one.publish("on", on: "news") }
            }
            #expect(received.count { $0 != .missed && $0 != on } < count)
        }
    }

    @Test func aSubscriptionEndsWithItsPool() async throws {
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
