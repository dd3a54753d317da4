import Foundation
import Postgres
import PushAPI
import Wire

/// The changed options; nil leaves an option unchanged.
struct SubscriptionUpdate: Sendable {
    let notify: Bool?
    let cooldown: Bool?
    let sound: String?
    let disabledCommunities: [String]?
    let changesIcon: Bool
    let icon: String?
}

struct NewSubscription: Sendable {
    let name: FoldedName
    let icon: String?
}

struct SubscriptionStore<Executor: PostgresExecutor> {
    private static var columns: String {
        "broadcaster, name, notify, cooldown, sound, disabled_communities, icon_url"
    }

    let db: Executor

    func page(
        of user: User.ID,
        after last: String,
        limit: Int
    ) async throws -> [(folded: String, subscription: Subscription)] {
        try await db.all(
            """
            SELECT \(unsafe: Self.columns) FROM subscriptions
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND broadcaster > \(last)
                AND removed_at IS NULL
            ORDER BY broadcaster LIMIT \(limit)
            """,
            as: { (try $0.string("broadcaster"), try Subscription(row: $0)) }
        )
    }

    func find(_ broadcaster: String, of user: User.ID) async throws -> Subscription? {
        try await db.first(
            """
            SELECT \(unsafe: Self.columns) FROM subscriptions
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND broadcaster = \(broadcaster)
                AND removed_at IS NULL
            """,
            as: Subscription.init(row:)
        )
    }

    /// Returns the number of the user's favourites, at most `limit`.
    func count(of user: User.ID, upTo limit: Int) async throws -> Int {
        try await db.one(
            """
            SELECT count(*) AS subscriptions FROM (
                SELECT FROM subscriptions
                WHERE application_id = \(user.application) AND user_id = \(user.user) AND removed_at IS NULL
                LIMIT \(limit)
            ) AS counted
            """,
            as: { try $0.int("subscriptions") }
        )
    }

    /// Changes a favourite in one statement, so that concurrent changes do not undo each other; resets a removed
    /// favourite.
    func upsert(_ name: FoldedName, _ update: SubscriptionUpdate, of user: User.ID) async throws -> Subscription {
        try await db.one(
            """
            INSERT INTO subscriptions AS existing (application_id, user_id, broadcaster, name, notify, cooldown, sound,
                                                   disabled_communities, icon_url)
            VALUES (\(user.application), \(user.user), \(name.folded), \(name.text),
                    coalesce(\(update.notify), true), coalesce(\(update.cooldown), false),
                    coalesce(\(update.sound), \(NotificationSound.standard)),
                    coalesce(\(update.disabledCommunities), '{}'), \(update.icon))
            ON CONFLICT ON CONSTRAINT subscriptions_pkey DO UPDATE
            SET (name, notify, cooldown, sound, disabled_communities, icon_url, removed_at) = (
                SELECT excluded.name, excluded.notify, excluded.cooldown, excluded.sound,
                       excluded.disabled_communities, excluded.icon_url, NULL::timestamptz
                WHERE existing.removed_at IS NOT NULL
                UNION ALL
                SELECT existing.name, coalesce(\(update.notify), existing.notify),
                       coalesce(\(update.cooldown), existing.cooldown),
                       coalesce(\(update.sound), existing.sound),
                       coalesce(\(update.disabledCommunities), existing.disabled_communities),
                       CASE WHEN \(update.changesIcon) THEN excluded.icon_url ELSE existing.icon_url END, NULL
                WHERE existing.removed_at IS NULL
            )
            RETURNING \(unsafe: Self.columns)
            """,
            as: Subscription.init(row:)
        )
    }

    func remove(_ broadcaster: String, of user: User.ID, at now: Date) async throws {
        try await db.run(
            """
            UPDATE subscriptions SET removed_at = \(now)
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND broadcaster = \(broadcaster)
                AND removed_at IS NULL
            """
        )
    }

    func trimRemoved(of user: User.ID, to limit: Int) async throws {
        try await db.run(
            """
            DELETE FROM subscriptions
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND removed_at IS NOT NULL
                AND broadcaster IN (
                    SELECT broadcaster FROM subscriptions
                    WHERE application_id = \(user.application) AND user_id = \(user.user) AND removed_at IS NOT NULL
                    ORDER BY removed_at DESC, broadcaster OFFSET \(limit)
                )
            """
        )
    }

    /// Adds favourites that the user neither has nor removed; returns their names.
    func add(_ new: [NewSubscription], to user: User.ID, upTo limit: Int) async throws -> [String] {
        try await db.all(
            """
            INSERT INTO subscriptions (application_id, user_id, broadcaster, name, icon_url)
            SELECT \(user.application), \(user.user), broadcaster, name, icon
            FROM unnest(\(new.map(\.name.folded)), \(new.map(\.name.text)), \(new.map(\.icon)))
                WITH ORDINALITY AS found (broadcaster, name, icon, ordinal)
            WHERE NOT EXISTS (
                SELECT FROM subscriptions AS existing
                WHERE existing.application_id = \(user.application) AND existing.user_id = \(user.user)
                    AND existing.broadcaster = found.broadcaster
            )
            ORDER BY ordinal LIMIT \(max(limit, 0))
            ON CONFLICT ON CONSTRAINT subscriptions_pkey DO NOTHING
            RETURNING name
            """,
            as: { try $0.string("name") }
        )
    }

    func delete(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM subscriptions WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}

extension Subscription {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            broadcaster: try row.string("name"),
            notify: try row.bool("notify"),
            cooldown: try row.bool("cooldown"),
            sound: try row.string("sound"),
            disabledCommunities: try row.strings("disabled_communities"),
            iconUrl: try row.optionalString("icon_url")
        )
    }
}
