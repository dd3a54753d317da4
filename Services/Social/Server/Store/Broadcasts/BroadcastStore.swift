import Foundation
import Postgres
import SocialAPI
import Wire

/// A poll of the broadcasts that this instance has claimed.
struct PollRound: Sendable {
    let number: Int64
    /// The number of consecutive failed polls before this one.
    let failures: Int
}

/// The tables `broadcast_poll` and `broadcasts`.
struct BroadcastStore<Executor: PostgresExecutor> {
    let db: Executor

    // MARK: Polls

    /// Claims the next poll; returns nil if it is not due yet or another instance has claimed it.
    ///
    /// A due time after `latest` was set by an instance with a fast clock, and is ignored.
    func claimRound(at now: Date, next: Date, latest: Date) async throws -> PollRound? {
        try await db.first(
            """
            UPDATE broadcast_poll SET round = round + 1, due_at = \(next)
            WHERE due_at <= \(now) OR due_at > \(latest)
            RETURNING round, failures
            """,
            as: { PollRound(number: try $0.int64("round"), failures: try $0.int("failures")) }
        )
    }

    /// Records a successful poll; returns false if a later poll has started, whose response is newer.
    func finish(_ round: PollRound, at now: Date) async throws -> Bool {
        try await db.run(
            "UPDATE broadcast_poll SET answered_at = \(now), failures = 0 WHERE round = \(round.number)"
        ) == 1
    }

    func fail(_ round: PollRound, next: Date) async throws {
        try await db.run(
            "UPDATE broadcast_poll SET failures = failures + 1, due_at = \(next) WHERE round = \(round.number)"
        )
    }

    /// Returns the time of the last successful poll.
    func answeredAt() async throws -> Date? {
        try await db.one("SELECT answered_at FROM broadcast_poll", as: { try $0.optionalDate("answered_at") })
    }

    // MARK: Results

    /// Stores the live broadcasts and marks all others as ended.
    func replace(with found: [Broadcast], at now: Date) async throws {
        let encoder = WireJSON.encoder(sortedKeys: true)
        let contents = try found.map { PostgresJSON(text: String(decoding: try encoder.encode($0), as: UTF8.self)) }
        try await db.run(
            """
            INSERT INTO broadcasts (broadcast_id, is_live, watchers, content, first_seen_at, seen_at)
            SELECT broadcast_id, is_live, watchers, content, \(now), \(now)
            FROM unnest(
                \(found.map(\.id)), \(found.map { $0.state == .live }), \(found.map(\.watchers)), \(contents)
            ) AS found (broadcast_id, is_live, watchers, content)
            ON CONFLICT (broadcast_id) DO UPDATE
            SET is_live = excluded.is_live, watchers = excluded.watchers, content = excluded.content,
                seen_at = excluded.seen_at
            """
        )
        try await db.run(
            """
            UPDATE broadcasts SET is_live = false, content = jsonb_set(content, '{state}', '"ENDED"')
            WHERE is_live AND broadcast_id <> ALL (\(found.map(\.id)))
            """
        )
    }

    /// Marks broadcasts as published; returns the ids of those that were not marked before.
    func markNotified(_ ids: [String], at now: Date) async throws -> [String] {
        try await db.all(
            """
            UPDATE broadcasts SET notified_at = \(now) WHERE broadcast_id = ANY (\(ids)) AND notified_at IS NULL
            RETURNING broadcast_id
            """,
            as: { try $0.string("broadcast_id") }
        )
    }

    /// Returns the live broadcasts that were not published yet, with the time when each was first seen.
    func awaitingNotification() async throws -> [String: Date] {
        let rows = try await db.all(
            "SELECT broadcast_id, first_seen_at FROM broadcasts WHERE notified_at IS NULL AND is_live",
            as: { (try $0.string("broadcast_id"), try $0.date("first_seen_at")) }
        )
        return Dictionary(rows) { first, _ in first }
    }

    func sweep(seenBefore time: Date) async throws {
        try await db.run("DELETE FROM broadcasts WHERE seen_at < \(time) AND NOT is_live")
    }

    // MARK: Reading

    /// Returns the live broadcasts by number of viewers, highest first.
    func live(limit: Int) async throws -> [Broadcast] {
        try await db.all(
            """
            SELECT content FROM broadcasts WHERE is_live ORDER BY watchers DESC, broadcast_id LIMIT \(limit)
            """,
            as: Broadcast.init(row:)
        )
    }

    func find(_ id: String) async throws -> Broadcast? {
        try await db.first("SELECT content FROM broadcasts WHERE broadcast_id = \(id)", as: Broadcast.init(row:))
    }
}

extension Broadcast {
    fileprivate init(row: PostgresRow) throws {
        self = try WireJSON.decoder().decode(Broadcast.self, from: Data(row.json("content").utf8))
    }
}
