import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// One list of somebody's on a network.
struct WatchKey: Hashable, Sendable {
    var user: User.ID
    var network: Network
    var list: NetworkEvent.List
}

/// A watch as it is kept.
struct KeptWatch: Sendable {
    var seen: SeenItems
    var isBegun: Bool
    var pause: Double
}

/// A watch that its holder looks at, until the claim ends.
struct ClaimedWatch: Sendable {
    var key: WatchKey
    var watch: KeptWatch
    /// When the claim began, and when it ends.
    var begin: Date
    var end: Date
    /// Whether the user has an open stream or a push device.
    var isUserPresent: Bool
}

/// The table `watches`.
struct WatchStore<Executor: PostgresExecutor> {
    let db: Executor

    typealias Watch = KeptWatch

    /// Has a list looked at from a time on, or never; as new where it was before.
    func begin(_ key: WatchKey, at due: Date?, pause: Double) async throws {
        try await db.run(
            """
            INSERT INTO watches (application_id, user_id, network, list, due_at, pause)
            VALUES (
                \(key.user.application), \(key.user.user), \(key.network.rawValue), \(key.list.rawValue),
                COALESCE(\(due), 'infinity'), \(pause)
            )
            ON CONFLICT ON CONSTRAINT watches_pkey DO UPDATE
            SET seen = '{}', is_begun = false, due_at = excluded.due_at, free_at = NULL, looked_at = NULL,
                pause = excluded.pause
            """
        )
    }

    func lock(_ key: WatchKey) async throws -> Watch? {
        try await db.first(
            """
            SELECT seen, is_begun, pause FROM watches
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue)
            FOR UPDATE
            """,
            as: Watch.init(row:)
        )
    }

    func keep(_ watch: Watch, of key: WatchKey) async throws {
        try await db.run(
            """
            UPDATE watches SET seen = \(PostgresJSON(encoding: watch.seen)), is_begun = \(watch.isBegun)
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue)
            """
        )
    }

    /// When the list is looked at next, and from when on it may be.
    ///
    /// Where a hurry came during the look it stands, but for waiting until the list is free.
    func put(off look: ClaimedWatch, until due: Date, free: Date?, pause: Double) async throws {
        let key = look.key
        try await db.run(
            """
            UPDATE watches
            SET due_at = CASE WHEN due_at = \(look.end) THEN \(due) ELSE GREATEST(due_at, \(free)) END,
                pause = CASE WHEN due_at = \(look.end) THEN \(pause) ELSE pause END,
                free_at = \(free)
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue)
            """
        )
    }

    /// Has all lists of somebody looked at soon, and often for a while: he is there.
    ///
    /// None sooner after the last look than `pause`, however often he comes, and none before it is free.
    func hurry(_ user: User.ID, now: Date, pause: Double) async throws {
        try await db.run(
            """
            UPDATE watches
            SET due_at = LEAST(due_at, GREATEST(\(now), free_at, looked_at + make_interval(secs => \(pause)))),
                pause = \(pause)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND isfinite(due_at)
            """
        )
    }

    /// Has one list looked at as soon as it is free: something is said to be new.
    func hurry(_ key: WatchKey, now: Date) async throws {
        try await db.run(
            """
            UPDATE watches SET due_at = GREATEST(\(now), free_at)
            WHERE application_id = \(key.user.application) AND user_id = \(key.user.user)
                AND network = \(key.network.rawValue) AND list = \(key.list.rawValue) AND isfinite(due_at)
            """
        )
    }

    /// Whether anything is to be looked at.
    func isDue(_ network: Network, now: Date) async throws -> Bool {
        try await db.one(
            "SELECT EXISTS (SELECT FROM watches WHERE network = \(network.rawValue) AND due_at <= \(now)) AS is_due",
            as: { try $0.bool("is_due") }
        )
    }

    /// Takes some lists of a network that are due, those that have waited longest first, and puts them off meanwhile.
    func claim(
        _ network: Network,
        now: Date,
        until end: Date,
        limit: Int
    ) async throws -> (values: [ClaimedWatch], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE watches SET due_at = \(end), looked_at = \(now)
            WHERE (application_id, user_id, network, list) IN (
                SELECT application_id, user_id, network, list FROM watches
                WHERE network = \(network.rawValue) AND due_at <= \(now)
                ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            RETURNING application_id, user_id, list, seen, is_begun, pause, EXISTS (
                SELECT FROM user_presence AS present
                WHERE present.application_id = watches.application_id AND present.user_id = watches.user_id
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
            guard let known = NetworkEvent.List(rawValue: list) else { throw UnreadableRow("watches", list) }
            let user = User.ID(application: try row.string("application_id"), user: try row.string("user_id"))
            let key = WatchKey(user: user, network: network, list: known)
            return ClaimedWatch(
                key: key,
                watch: try Watch(row: row),
                begin: now,
                end: end,
                isUserPresent: try row.bool("is_user_present")
            )
        }
    }

    /// How many looks a network's key has left, filled up to now; the row is locked until the transaction ends.
    func budget(of network: Network, filledBy perHour: Double, now: Date) async throws -> Double {
        try await db.one(
            """
            INSERT INTO look_budgets AS known (network, looks, filled_at)
            VALUES (\(network.rawValue), \(perHour / 60), \(now))
            ON CONFLICT ON CONSTRAINT look_budgets_pkey DO UPDATE
            SET looks = LEAST(
                    \(perHour / 60),
                    known.looks + GREATEST(0, extract(epoch FROM \(now) - known.filled_at)::double precision)
                        * \(perHour / 3_600)
                ),
                filled_at = \(now)
            RETURNING looks
            """,
            as: { try $0.double("looks") }
        )
    }

    func spend(_ looks: Int, of network: Network) async throws {
        try await db.run("UPDATE look_budgets SET looks = looks - \(Double(looks)) WHERE network = \(network.rawValue)")
    }
}

extension SetAsideKind {
    /// A list of a user on a network that is polled.
    static let watch = SetAsideKind(
        "watch",
        table: "watches",
        key: ["application_id": "text", "user_id": "text", "network": "text", "list": "text"],
        due: "due_at"
    )
}

extension KeptWatch {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            seen: try row.decoded("seen"),
            isBegun: try row.bool("is_begun"),
            pause: try row.double("pause")
        )
    }
}
