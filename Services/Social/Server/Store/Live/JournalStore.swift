import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// The tables `journals` and `changes`.
struct JournalStore<Executor: PostgresExecutor> {
    let db: Executor

    /// A change with its place.
    struct Placed: Sendable {
        var user: User.ID
        var place: Int64
        var change: ItemChange

        /// As it names the row where the row is set aside.
        var key: [String] { [user.application, user.user, "\(place)"] }
    }

    /// Keeps everybody else from somebody's journal until the transaction ends; answers the last place in it.
    func lock(_ user: User.ID) async throws -> Int64 {
        try await db.one(
            """
            INSERT INTO journals AS known (application_id, user_id) VALUES (\(user.application), \(user.user))
            ON CONFLICT ON CONSTRAINT journals_pkey DO UPDATE SET last_place = known.last_place
            RETURNING last_place
            """,
            as: { try $0.int64("last_place") }
        )
    }

    /// Adds changes behind the last place, in the transaction that holds the lock; `pushes` says what push receives of each.
    func append(
        _ changes: [ItemChange],
        _ pushes: [ChangePush],
        of user: User.ID,
        after last: Int64,
        now: Date
    ) async throws {
        for (offset, (change, push)) in zip(changes, pushes).enumerated() {
            try await db.run(
                """
                INSERT INTO changes (
                    application_id, user_id, place, kind, list, item_id, item, happened_at, is_untold, is_alert
                )
                VALUES (
                    \(user.application), \(user.user), \(last + 1 + Int64(offset)), \(change.kind.rawValue),
                    \(change.list?.rawValue ?? ""), \(change.id.description),
                    \(try change.item.map { try PostgresJSON(encoding: $0) }), \(now),
                    \(push != .none), \(push == .alert)
                )
                """
            )
        }
        try await db.run(
            """
            UPDATE journals SET last_place = \(last + Int64(changes.count))
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """
        )
    }

    /// The last places of some people.
    func lastPlaces(of users: [User.ID]) async throws -> [User.ID: Int64] {
        let found = try await db.all(
            """
            SELECT journals.application_id, journals.user_id, last_place
            FROM journals JOIN unnest(\(users.map(\.application)), \(users.map(\.user))) AS asked (application_id, user_id)
                ON journals.application_id = asked.application_id AND journals.user_id = asked.user_id
            """
        ) { row in
            let user = User.ID(application: try row.string("application_id"), user: try row.string("user_id"))
            return (user, try row.int64("last_place"))
        }
        return Dictionary(uniqueKeysWithValues: found)
    }

    /// Changes in their order; nil for a change that cannot be read.
    func changes(
        of user: User.ID,
        after place: Int64,
        limit: Int
    ) async throws -> [(place: Int64, change: ItemChange?)] {
        try await db.all(
            """
            SELECT application_id, user_id, place, kind, list, item_id, item, is_alert FROM changes
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND place > \(place)
            ORDER BY place LIMIT \(limit)
            """
        ) { row in
            // The stream of a user must get past a row that this release cannot read.
            (place: try row.int64("place"), change: (try? Placed(row: row))?.change)
        }
    }

    /// Takes some that push has to be told of, for a while.
    func claimUntold(
        now: Date,
        until end: Date,
        limit: Int
    ) async throws -> (values: [Placed], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE changes SET claimed_until = \(end)
            WHERE (application_id, user_id, place) IN (
                SELECT application_id, user_id, place FROM changes
                WHERE is_untold AND (claimed_until IS NULL OR claimed_until <= \(now))
                ORDER BY happened_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            RETURNING application_id, user_id, place, kind, list, item_id, item, is_alert
            """
        ).decoded(
            key: { [try $0.string("application_id"), try $0.string("user_id"), "\(try $0.int64("place"))"] },
            as: Placed.init(row:)
        )
    }

    /// Notes that push knows of them, or that it is to be asked again.
    func settle(_ placed: [Placed], isTold: Bool) async throws {
        try await db.run(
            """
            UPDATE changes SET is_untold = \(!isTold), claimed_until = NULL
            FROM unnest(\(placed.map(\.user.application)), \(placed.map(\.user.user)), \(placed.map(\.place)))
                AS settled (application_id, user_id, place)
            WHERE changes.application_id = settled.application_id AND changes.user_id = settled.user_id
                AND changes.place = settled.place
            """
        )
    }

    /// Forgets changes of before; those that push has not taken a day later.
    func delete(before date: Date) async throws {
        let longer = date.addingTimeInterval(-86_400)
        try await db.run(
            "DELETE FROM changes WHERE happened_at < \(date) AND (NOT is_untold OR happened_at < \(longer))"
        )
    }

    func deleteAll(of user: User.ID) async throws {
        try await db.run("DELETE FROM changes WHERE application_id = \(user.application) AND user_id = \(user.user)")
        try await db.run("DELETE FROM journals WHERE application_id = \(user.application) AND user_id = \(user.user)")
    }
}

extension SetAsideKind {
    /// A change on a network that push is to be told of.
    static let change = SetAsideKind(
        "change",
        table: "changes",
        key: ["application_id": "text", "user_id": "text", "place": "bigint"],
        due: "claimed_until",
        pending: "t.is_untold",
        dropping: .set("is_untold = false, claimed_until = NULL")
    )
}

extension JournalStore.Placed {
    fileprivate init(row: PostgresRow) throws {
        let words = (kind: try row.string("kind"), list: try row.string("list"), id: try row.string("item_id"))
        let list = NetworkEvent.List(rawValue: words.list)
        guard let kind = ItemChange.Kind(rawValue: words.kind), list != nil || kind == .reauthenticate,
            let id = ItemID(words.id)
        else { throw UnreadableRow("changes", "kind, list or item_id is unknown") }
        let item = try row.optionalJSON("item") == nil ? nil : row.decoded("item", as: Item.self)
        self.init(
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            place: try row.int64("place"),
            change: ItemChange(kind: kind, list: list, id: id, item: item, isAlert: try row.bool("is_alert"))
        )
    }
}
