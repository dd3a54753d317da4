import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// The tables `change_logs` and `changes`.
struct ChangeStore<Executor: PostgresExecutor> {
    let db: Executor

    struct NumberedChange: Sendable {
        var user: User.ID
        var number: Int64
        var change: ItemChange

        /// The key of the row when it is set aside.
        var key: [String] { [user.application, user.user, "\(number)"] }
    }

    /// Locks a user's change log until the transaction ends; returns its last number.
    func lock(_ user: User.ID) async throws -> Int64 {
        try await db.one(
            """
            INSERT INTO change_logs AS existing (application_id, user_id) VALUES (\(user.application), \(user.user))
            ON CONFLICT ON CONSTRAINT change_logs_pkey DO UPDATE SET last_number = existing.last_number
            RETURNING last_number
            """,
            as: { try $0.int64("last_number") }
        )
    }

    /// Appends changes in the transaction that holds the lock; `pushes` has the kind of push for each change.
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
                    application_id, user_id, number, kind, list, item_id, item, happened_at, needs_push, is_alert
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
            UPDATE change_logs SET last_number = \(last + Int64(changes.count))
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """
        )
    }

    func lastNumbers(of users: [User.ID]) async throws -> [User.ID: Int64] {
        let found = try await db.all(
            """
            SELECT change_logs.application_id, change_logs.user_id, last_number
            FROM change_logs JOIN unnest(\(users.map(\.application)), \(users.map(\.user))) AS requested (application_id, user_id)
                ON change_logs.application_id = requested.application_id AND change_logs.user_id = requested.user_id
            """
        ) { row in
            let user = User.ID(application: try row.string("application_id"), user: try row.string("user_id"))
            return (user, try row.int64("last_number"))
        }
        return Dictionary(uniqueKeysWithValues: found)
    }

    /// Returns changes in their order; nil for a change that cannot be read.
    func changes(
        of user: User.ID,
        after number: Int64,
        limit: Int
    ) async throws -> [(number: Int64, change: ItemChange?)] {
        try await db.all(
            """
            SELECT application_id, user_id, number, kind, list, item_id, item, is_alert FROM changes
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND number > \(number)
            ORDER BY number LIMIT \(limit)
            """
        ) { row in
            // A row that this release cannot read must not stop the user's stream.
            (number: try row.int64("number"), change: (try? NumberedChange(row: row))?.change)
        }
    }

    /// Claims changes that must be sent to push, until `end`.
    func claimUnsent(
        now: Date,
        until end: Date,
        limit: Int
    ) async throws -> (values: [NumberedChange], unreadable: [FailedRow]) {
        try await db.execute(
            """
            UPDATE changes SET claimed_until = \(end)
            WHERE (application_id, user_id, number) IN (
                SELECT application_id, user_id, number FROM changes
                WHERE needs_push AND (claimed_until IS NULL OR claimed_until <= \(now))
                ORDER BY happened_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            )
            RETURNING application_id, user_id, number, kind, list, item_id, item, is_alert
            """
        ).decoded(
            key: { [try $0.string("application_id"), try $0.string("user_id"), "\(try $0.int64("number"))"] },
            as: NumberedChange.init(row:)
        )
    }

    /// Records that push has received the changes, or releases their claims.
    func settle(_ numbered: [NumberedChange], isSent: Bool) async throws {
        try await db.run(
            """
            UPDATE changes SET needs_push = \(!isSent), claimed_until = NULL
            FROM unnest(\(numbered.map(\.user.application)), \(numbered.map(\.user.user)), \(numbered.map(\.number)))
                AS settled (application_id, user_id, number)
            WHERE changes.application_id = settled.application_id AND changes.user_id = settled.user_id
                AND changes.number = settled.number
            """
        )
    }

    /// Deletes changes before `date`; those that push has not received are kept for another day.
    func delete(before date: Date) async throws {
        let longer = date.addingTimeInterval(-86_400)
        try await db.run(
            "DELETE FROM changes WHERE happened_at < \(date) AND (NOT needs_push OR happened_at < \(longer))"
        )
    }

    func deleteAll(of user: User.ID) async throws {
        try await db.run("DELETE FROM changes WHERE application_id = \(user.application) AND user_id = \(user.user)")
        try await db.run(
            "DELETE FROM change_logs WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}

extension SetAsideKind {
    /// A change that must be sent to push.
    static let change = SetAsideKind(
        "change",
        table: "changes",
        key: ["application_id": "text", "user_id": "text", "number": "bigint"],
        due: "claimed_until",
        pending: "t.needs_push",
        dropping: .set("needs_push = false, claimed_until = NULL")
    )
}

extension ChangeStore.NumberedChange {
    fileprivate init(row: PostgresRow) throws {
        let columns = (kind: try row.string("kind"), list: try row.string("list"), id: try row.string("item_id"))
        let list = NetworkEvent.List(rawValue: columns.list)
        guard let kind = ItemChange.Kind(rawValue: columns.kind), list != nil || kind == .reauthenticate,
            let id = ItemID(columns.id)
        else { throw UnreadableRow("changes", "kind, list or item_id is unknown") }
        let item = try row.optionalJSON("item") == nil ? nil : row.decoded("item", as: Item.self)
        self.init(
            user: User.ID(application: try row.string("application_id"), user: try row.string("user_id")),
            number: try row.int64("number"),
            change: ItemChange(kind: kind, list: list, id: id, item: item, isAlert: try row.bool("is_alert"))
        )
    }
}
