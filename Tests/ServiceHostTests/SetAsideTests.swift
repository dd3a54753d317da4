import Foundation
import Postgres
import ServiceClient
import ServiceHost
import Synchronization
import Testing
import TestSupport
import Wire

/// A value that tasks of a test share.
private final class SharedValue<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    func change(_ body: (inout Value) -> Void) { state.withLock { (value: inout sending Value) in body(&value) } }
}

@Suite("Rows set aside") struct SetAsideTests {
    private static let job = SetAsideKind("job", table: "jobs", key: ["job_id": "bigint"])

    /// Three jobs, of which `failing` fails.
    private func withJobs(
        _ body: (TestDatabase, SetAside, SharedValue<Date>, (_ failing: Int64?) async throws -> [Int64]) async throws ->
            Void
    ) async throws {
        let jobs = "CREATE TABLE jobs (job_id bigint PRIMARY KEY); INSERT INTO jobs VALUES (1), (2), (3)"
        let migrations =
            ServiceHost.migrations(of: PublisherService.self)
            + [Migration(name: "V9000_jobs", sql: Array(jobs.utf8))]
        try await TestDatabase.with(migrations: migrations) { database in
            let clock = SharedValue(Date())
            let setAside = database.setAside([Self.job], now: { clock.value })
            try await body(database, setAside, clock) { failing in
                let done = SharedValue<[Int64]>([])
                try await setAside.drain(
                    Self.job,
                    key: { ["\($0)"] },
                    next: { db in
                        try await db.first(
                            """
                            SELECT job_id FROM jobs WHERE \(isDue: Self.job, at: clock.value)
                            ORDER BY job_id LIMIT 1 FOR UPDATE SKIP LOCKED
                            """,
                            as: { try $0.int64("job_id") }
                        )
                    }
                ) { job, db in
                    guard job != failing else { throw APIError(.unprocessable, "job_failed", "The job failed.") }
                    try await db.run("DELETE FROM jobs WHERE job_id = \(job)")
                    done.change { $0.append(job) }
                }
                return done.value
            }
        }
    }

    @Test("A row that fails does not stop other rows, and is retried with growing delays")
    func backoff() async throws {
        try await withJobs { _, setAside, clock, run in
            #expect(try await run(1) == [2, 3])
            for pause in [1.0, 2, 4, 8] {
                let entry = try #require(try await setAside.list(before: nil, limit: 10).items.first)
                #expect(entry.retryAt.map { abs($0.timeIntervalSince(clock.value) - pause) < 0.001 } == true)
                clock.change { $0 += pause - 0.5 }
                #expect(try await run(nil).isEmpty)
                clock.change { $0 += 1 }
                #expect(try await run(pause < 8 ? 1 : nil) == (pause < 8 ? [] : [1]))
            }
        }
    }

    @Test("A row that always fails is set aside after its last attempt, with the error")
    func lastAttempt() async throws {
        try await withJobs { _, setAside, clock, run in
            for _ in 0..<300 {
                _ = try await run(2)
                clock.change { $0 += 301 }
            }
            let entry = try #require(try await setAside.list(before: nil, limit: 10).items.first)
            #expect(entry.attempts == 300)
            #expect(entry.retryAt == nil)
            #expect(entry.reason == "failing")
            #expect(entry.detail == "job_failed")
            #expect(entry.key == ["2"])
            #expect(try await run(nil).isEmpty)
            _ = try await setAside.retry(SetAsideSelection(kind: "job"))
            #expect(try await run(nil) == [2])
        }
    }

    @Test("Two workers that fail on the same row at once count one attempt")
    func twoWorkers() async throws {
        try await withJobs { _, setAside, _, _ in
            for _ in 0..<2 { try await setAside.failed([FailedRow(["1"], .failing, detail: "")], of: Self.job) }
            #expect(try await setAside.list(before: nil, limit: 10).items.map(\.attempts) == [1])
        }
    }

    @Test("An error of an unavailable database or service does not count against a row")
    func unavailable() {
        #expect(FailedRow([], APIError.unavailable("push")) == nil)
        #expect(FailedRow([], CancellationError()) == nil)
        #expect(FailedRow([], APIError(.conflict, "conflict", ""))?.reason == .failing)
        #expect(FailedRow([], UnreadableRow("jobs", "kind is unknown"))?.reason == .unreadable)
    }

    @Test("Only the operator lists, shows, retries and drops rows")
    func routes() async throws {
        let auth = EventFixture()
        try await auth.withPublisher(at: 9) { publisher in
            let setAside = publisher.database.setAside([.event])
            try await publisher.database.pool.run(
                """
                INSERT INTO event_outbox (event_id, subscriber, type, key, content, written_at, due_at)
                SELECT gen_random_uuid(), 'listener', 'word.said', 'ann', '{}', now(), now() + interval '1 hour'
                FROM generate_series(1, 3)
                """
            )
            try await setAside.failed(
                (1...3).map { FailedRow(["\($0)"], .unreadable, detail: "no kind") },
                of: .event
            )
            let path = "/internal/set-aside"
            let other = try publisher.peerClient("push", callee: "teller")
            await #expect(throws: APIError.self) { try await other.get(path, as: Page<SetAsideRow>.self) }
            let roost = try publisher.peerClient("roost", callee: "teller")
            let rows = try await roost.get(path, query: [("limit", "2")], as: Page<SetAsideRow>.self).items
            #expect(rows.count == 2)
            #expect(rows[0].id > rows[1].id)
            #expect(rows[0].detail == "no kind")
            let rest = try await roost.get(path, query: [("before", "\(rows[1].id)")], as: Page<SetAsideRow>.self)
            #expect(rest.items.count == 1)
            #expect(try await roost.get("\(path)/\(rows[0].id)", as: SetAsideRow.self).key == rows[0].key)
            await #expect(throws: APIError.self) { try await roost.get("\(path)/0", as: SetAsideRow.self) }
            await #expect(throws: APIError.self) {
                try await roost.post("\(path)/drop", SetAsideSelection(), as: SetAsideChange.self)
            }
            // No row is set aside yet, so only those that are named are retried.
            let all = SetAsideSelection(all: true)
            #expect(try await roost.post("\(path)/retry", all, as: SetAsideChange.self).count == 0)
            let named = SetAsideSelection(ids: rows.map(\.id))
            #expect(try await roost.post("\(path)/retry", named, as: SetAsideChange.self).count == 2)
            let last = SetAsideSelection(ids: rest.items.map(\.id))
            #expect(try await roost.post("\(path)/drop", last, as: SetAsideChange.self).count == 1)
            #expect(try await roost.get(path, as: Page<SetAsideRow>.self).items.isEmpty)
        }
    }

    @Test("An event that cannot be read delays no event of another key")
    func poisonedEvent() async throws {
        // A recorder instead of a subscriber service, whose database would take a second slot of the test databases.
        let subscriber = EventRecorder(callee: "listener")
        let auth = ServiceClient(callee: "auth", transport: AuthTransport(TestKeys()))
        try await TestService.with(
            PublisherService.self,
            settings: EventFixture.settings,
            peers: .with(["auth": auth, "listener": subscriber.client])
        ) { publisher in
            try await publisher.database.pool.run(
                """
                INSERT INTO event_outbox (event_id, subscriber, type, key, content, written_at, due_at)
                SELECT gen_random_uuid(), 'listener', 'word.said', speaker, content, now(), now()
                FROM (VALUES (1, 'ann', '{"speaker": "ann"}'), (2, 'bob', '{'), (3, 'cat', '{"speaker": "cat"}'))
                    AS said (place, speaker, content)
                ORDER BY place
                """
            )
            let speakers = try await subscriber.events(2).map { event in
                if case .object(let fields) = event.content { fields["speaker"] ?? .null } else { JSONValue.null }
            }
            #expect(Set(speakers) == [.string("ann"), .string("cat")])
            try await PoisonTest(.event, in: publisher.database).check()
        }
    }
}
