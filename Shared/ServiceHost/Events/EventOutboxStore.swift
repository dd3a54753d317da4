import Foundation
import Postgres
import Wire

/// The table `event_outbox`.
///
/// It goes by the database's clock, so that instances with clocks apart agree on what is due.
struct EventOutboxStore {
    let db: any PostgresExecutor

    /// An event that this process tells somebody about, until its claim ends.
    struct Claimed: Sendable {
        var row: Int64
        var event: Event
    }

    /// How much waits for somebody, and since when.
    struct Lag: Sendable {
        var waiting: Int
        /// Seconds.
        var oldest: Double
    }

    func insert(
        type: String,
        for subscribers: [String],
        at: Date,
        events: [(id: UUID, key: String, content: String)]
    ) async throws {
        try await db.run(
            """
            INSERT INTO event_outbox (event_id, subscriber, type, key, content, written_at, due_at)
            SELECT event_id, subscriber, \(type), key, content, \(at), clock_timestamp()
            FROM unnest(\(events.map(\.id)), \(events.map(\.key)), \(events.map(\.content)))
                WITH ORDINALITY AS events (event_id, key, content, place),
                unnest(\(subscribers)) AS subscribers (subscriber)
            ORDER BY place
            """
        )
    }

    /// Claims events that are due for `seconds`: none whose key has an earlier one waiting, nor one that another has.
    ///
    /// An event that is set aside holds up no later one of its key.
    func claim(
        for subscriber: String,
        limit: Int,
        seconds: Double
    ) async throws -> (values: [Claimed], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE event_outbox
            SET due_at = clock_timestamp() + make_interval(secs => \(seconds)), attempts = attempts + 1
            WHERE outbox_id IN (
                SELECT outbox_id FROM event_outbox AS waiting
                WHERE subscriber = \(subscriber) AND due_at <= clock_timestamp()
                    AND NOT EXISTS (
                        SELECT FROM event_outbox AS earlier
                        WHERE earlier.subscriber = waiting.subscriber AND earlier.key = waiting.key
                            AND earlier.outbox_id < waiting.outbox_id AND isfinite(earlier.due_at)
                    )
                ORDER BY due_at
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED
            )
            RETURNING outbox_id, event_id, type, content, written_at
            """
        ).decoded(key: { ["\(try $0.int64("outbox_id"))"] }, as: Claimed.init(row:))
    }

    func delete(_ rows: [Int64]) async throws {
        try await db.run("DELETE FROM event_outbox WHERE outbox_id = ANY(\(rows))")
    }

    /// Gives a claim back, since nobody is there to take the events; it counts for nothing.
    func release(_ rows: [Int64]) async throws {
        try await db.run(
            """
            UPDATE event_outbox SET due_at = clock_timestamp(), attempts = attempts - 1
            WHERE outbox_id = ANY(\(rows))
            """
        )
    }

    func lag(of subscriber: String) async throws -> Lag {
        try await db.one(
            """
            SELECT count(*) AS waiting,
                COALESCE(extract(epoch FROM clock_timestamp() - min(written_at)), 0)::float8 AS oldest
            FROM event_outbox
            WHERE subscriber = \(subscriber) AND isfinite(due_at)
            """
        ) { row in Lag(waiting: try row.int("waiting"), oldest: try row.double("oldest")) }
    }

    /// Gives up on what nobody has taken for so long; returns how many.
    func delete(writtenBefore date: Date) async throws -> Int {
        try await db.run("DELETE FROM event_outbox WHERE written_at < \(date)")
    }
}

extension EventOutboxStore.Claimed {
    fileprivate init(row: PostgresRow) throws {
        let content = Data(try row.string("content").utf8)
        self.init(
            row: try row.int64("outbox_id"),
            event: Event(
                id: try row.uuid("event_id"),
                type: try row.string("type"),
                at: try row.date("written_at"),
                content: try WireJSON.decoder().decode(JSONValue.self, from: content)
            )
        )
    }
}

extension SetAsideKind {
    /// An event for one subscriber.
    package static let event = SetAsideKind(
        "event",
        table: "event_outbox",
        key: ["outbox_id": "bigint"],
        due: "due_at",
        clock: .database
    )
}
