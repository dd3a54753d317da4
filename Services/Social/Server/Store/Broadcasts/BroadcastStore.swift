import Foundation
import Postgres
import SocialAPI
import Wire

/// A round of asking that this instance has won.
struct PollRound: Sendable {
    let number: Int64
    /// How many rounds before it brought nothing.
    let failures: Int
}

/// The tables `broadcast_poll` and `broadcasts`.
struct BroadcastStore<Executor: PostgresExecutor> {
    let db: Executor

    // MARK: Rounds

    /// Makes the caller the one who asks this time, if it is time; nil where it is not, or another is.
    ///
    /// A time beyond `latest` is that of an instance whose clock ran ahead, and holds up nobody.
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

    /// Notes that a round was answered; false where a later one has begun meanwhile, whose answer is newer.
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

    /// When the list was last answered.
    func answeredAt() async throws -> Date? {
        try await db.one("SELECT answered_at FROM broadcast_poll", as: { try $0.optionalDate("answered_at") })
    }

    // MARK: What was found

    /// Writes what is live now in the place of what was; nothing else is live any more.
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

    /// Those of these that nobody was told of yet, with when they were first seen; noted as told from now on.
    func markNotified(_ ids: [String], at now: Date) async throws -> [String] {
        try await db.all(
            """
            UPDATE broadcasts SET notified_at = \(now) WHERE broadcast_id = ANY (\(ids)) AND notified_at IS NULL
            RETURNING broadcast_id
            """,
            as: { try $0.string("broadcast_id") }
        )
    }

    /// Those that were not told of, with when they were first seen.
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

    /// By watchers, most first.
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
