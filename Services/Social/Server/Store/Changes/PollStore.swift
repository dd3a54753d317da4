import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// A list of a user on a network.
struct PolledListKey: Hashable, Sendable {
    var user: User.ID
    var network: Network
    var list: NetworkEvent.List
}

struct PolledList: Sendable {
    var seen: SeenItems
    var hasBaseline: Bool
    var pause: Double
}

/// A polled list that an instance has claimed.
struct ClaimedPoll: Sendable {
    var key: PolledListKey
    var polledList: PolledList
    /// The times at which the claim begins and ends.
    var begin: Date
    var end: Date
    /// Whether the user has an open stream or a push device.
    var isUserPresent: Bool
}

/// The table `polled_lists`.
struct PollStore<Executor: PostgresExecutor> {
    let db: Executor

    typealias List = PolledList

    /// Starts polling a list at a time, or never; an existing row is reset.
    func begin(_ key: PolledListKey, at due: Date?, pause: Double) async throws {
        try await db.run(
            """
            INSERT INTO polled_lists (application_id, user_id, network, list, due_at, pause)
            VALUES (
                \(key.user.application), \(key.user.user), \(key.network.rawValue), \(key.list.rawValue),
                COALESCE(\(due), 'infinity'), \(pause)
            )
            ON CONFLICT ON CONSTRAINT polled_lists_pkey DO UPDATE
            SET seen = '{}', has_baseline = false, due_at = excluded.due_at, not_before = NULL, polled_at = NULL,
                pause = excluded.pause
            """
        )
    }

    func lock(_ key: PolledListKey) async throws -> List? {
        try await db.first(
            """
            SELECT seen, has_baseline, pause FROM polled_lists
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue)
            FOR UPDATE
            """,
            as: List.init(row:)
        )
    }

    func save(_ polledList: List, of key: PolledListKey) async throws {
        try await db.run(
            """
            UPDATE polled_lists SET seen = \(PostgresJSON(encoding: polledList.seen)), has_baseline = \(polledList.hasBaseline)
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue)
            """
        )
    }

    /// Sets when the list is polled next, and the time before which it must not be polled.
    ///
    /// If `pollSoon` has changed the due time during the poll, that time stays, but not before `notBefore`.
    func reschedule(after poll: ClaimedPoll, until due: Date, notBefore: Date?, pause: Double) async throws {
        let key = poll.key
        try await db.run(
            """
            UPDATE polled_lists
            SET due_at = CASE WHEN due_at = \(poll.end) THEN \(due) ELSE GREATEST(due_at, \(notBefore)) END,
                pause = CASE WHEN due_at = \(poll.end) THEN \(pause) ELSE pause END,
                not_before = \(notBefore)
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue)
            """
        )
    }

    /// Makes all lists of a user due soon and resets their backoff, because the user is present.
    ///
    /// A list is due at the earliest `pause` seconds after its last poll, and not before its `not_before`.
    func pollSoon(_ user: User.ID, now: Date, pause: Double) async throws {
        try await db.run(
            """
            UPDATE polled_lists
            SET due_at = LEAST(due_at, GREATEST(\(now), not_before, polled_at + make_interval(secs => \(pause)))),
                pause = \(pause)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND isfinite(due_at)
            """
        )
    }

    /// Makes a list due as early as possible, because the network reports a change.
    func pollSoon(_ key: PolledListKey, now: Date) async throws {
        try await db.run(
            """
            UPDATE polled_lists SET due_at = GREATEST(\(now), not_before)
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue) AND isfinite(due_at)
            """
        )
    }

    func isDue(_ network: Network, now: Date) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM polled_lists WHERE network = \(network.rawValue) AND due_at <= \(now)) AS is_due",
            as: { try $0.bool("is_due") }
        )
    }

    /// Claims due lists of a network until `end`, those that have waited longest first.
    func claim(
        _ network: Network,
        now: Date,
        until end: Date,
        limit: Int
    ) async throws -> (values: [ClaimedPoll], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE polled_lists SET due_at = \(end), polled_at = \(now)
            WHERE (application_id, user_id, network, list) IN (
                SELECT application_id, user_id, network, list FROM polled_lists
                WHERE network = \(network.rawValue) AND due_at <= \(now)
                ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            RETURNING application_id, user_id, list, seen, has_baseline, pause, EXISTS (
                SELECT FROM user_presence AS present
                WHERE present.application_id = polled_lists.application_id AND present.user_id = polled_lists.user_id
                    AND (present.has_device OR present.stream_until > \(now))
            ) AS is_user_present
            """
        ).decoded(
            key: { row in
                [
                    try row.string("application_id"), try row.string("user_id"), network.rawValue,
                    try row.string("list"),
                ]
            }
        ) { row in
            let list = try row.string("list")
            guard let knownList = NetworkEvent.List(rawValue: list) else { throw UnreadableRow("polled_lists", list) }
            let user = User.ID(application: try row.string("application_id"), user: try row.string("user_id"))
            let key = PolledListKey(user: user, network: network, list: knownList)
            return ClaimedPoll(
                key: key,
                polledList: try List(row: row),
                begin: now,
                end: end,
                isUserPresent: try row.bool("is_user_present")
            )
        }
    }

    /// Returns the number of polls that a network's key has left at this time; locks the row until the transaction
    /// ends.
    func budget(of network: Network, filledBy perHour: Double, now: Date) async throws -> Double {
        try await db.one(
            """
            INSERT INTO poll_budgets AS existing (network, polls, filled_at)
            VALUES (\(network.rawValue), \(perHour / 60), \(now))
            ON CONFLICT ON CONSTRAINT poll_budgets_pkey DO UPDATE
            SET polls = LEAST(
                    \(perHour / 60),
                    existing.polls + GREATEST(0, extract(epoch FROM \(now) - existing.filled_at)::double precision)
                        * \(perHour / 3_600)
                ),
                filled_at = \(now)
            RETURNING polls
            """,
            as: { try $0.double("polls") }
        )
    }

    func spend(_ polls: Int, of network: Network) async throws {
        try await db.run("UPDATE poll_budgets SET polls = polls - \(Double(polls)) WHERE network = \(network.rawValue)")
    }
}

extension SetAsideKind {
    static let polledList = SetAsideKind(
        "polled_list",
        table: "polled_lists",
        key: ["application_id": "text", "user_id": "text", "network": "text", "list": "text"],
        due: "due_at"
    )
}

extension PolledList {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            seen: try row.decoded("seen"),
            hasBaseline: try row.bool("has_baseline"),
            pause: try row.double("pause")
        )
    }
}
