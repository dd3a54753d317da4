import Foundation
import Postgres
import Wire

/// The table `event_outbox`.
///
/// Due times use the database's clock, because the clocks of instances may differ.
struct EventOutboxStore {
    let db: any PostgresExecutor

    /// An event that this process has claimed for delivery until the claim expires.
    struct Claimed: Sendable {
        var row: Int64
        var event: Event
    }

    /// The backlog of a subscriber: the number of events and the age of the oldest.
    struct Lag: Sendable {
        var waiting: Int
        /// The age in seconds.
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
                WITH ORDINALITY AS events (event_id, key, content, ordinal),
                unnest(\(subscribers)) AS subscribers (subscriber)
            ORDER BY ordinal
            """
        )
    }

    /// Claims due events for `seconds`, except those that another worker has claimed or whose key has an earlier
    /// pending event.
    ///
    /// An event that is set aside does not block later events of its key.
    ///
    /// - Parameters:
    ///   - subscriber: the name of the subscribing service.
    ///   - limit: the maximum number of events.
    ///   - seconds: the duration of the claim.
    /// - Returns: the claimed events, and the rows that could not be decoded.
    /// - Throws: a `PostgresError`.
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

    /// Releases claims because the subscriber is unavailable; the attempt does not count.
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

    /// Deletes events written before a time; returns their number.
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
    package static let event = SetAsideKind(
        "event",
        table: "event_outbox",
        key: ["outbox_id": "bigint"],
        due: "due_at",
        clock: .database
    )
}
