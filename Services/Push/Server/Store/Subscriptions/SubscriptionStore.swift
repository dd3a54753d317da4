import Foundation
import Postgres
import PushAPI
import Wire

/// What changes; nil, or no name, leaves a favourite as it is.
struct SubscriptionUpdate: Sendable {
    let notify: Bool?
    let cooldown: Bool?
    let sound: String?
    let disabledCommunities: [String]?
    let changesIcon: Bool
    let icon: String?
}

/// A favourite to be added, as one begins.
struct NewSubscription: Sendable {
    let name: FoldedName
    let icon: String?
}

/// The table `subscriptions`.
struct SubscriptionStore<Executor: PostgresExecutor> {
    private static var columns: String {
        "broadcaster, name, notify, cooldown, sound, disabled_communities, icon_url"
    }

    let db: Executor

    /// In the order of their folded names, those after `last`.
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

    /// How many somebody has, counted no further than `limit`.
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

    /// In one statement, so that of two changes at once neither undoes the other; one that was removed begins anew.
    func upsert(_ name: FoldedName, _ update: SubscriptionUpdate, of user: User.ID) async throws -> Subscription {
        try await db.one(
            """
            INSERT INTO subscriptions AS known (application_id, user_id, broadcaster, name, notify, cooldown, sound,
                                                disabled_communities, icon_url)
            VALUES (\(user.application), \(user.user), \(name.folded), \(name.text),
                    coalesce(\(update.notify), true), coalesce(\(update.cooldown), false),
                    coalesce(\(update.sound), \(NotificationSound.standard)),
                    coalesce(\(update.disabledCommunities), '{}'), \(update.icon))
            ON CONFLICT ON CONSTRAINT subscriptions_pkey DO UPDATE
            SET (name, notify, cooldown, sound, disabled_communities, icon_url, removed_at) = (
                SELECT excluded.name, excluded.notify, excluded.cooldown, excluded.sound,
                       excluded.disabled_communities, excluded.icon_url, NULL::timestamptz
                WHERE known.removed_at IS NOT NULL
                UNION ALL
                SELECT known.name, coalesce(\(update.notify), known.notify),
                       coalesce(\(update.cooldown), known.cooldown),
                       coalesce(\(update.sound), known.sound),
                       coalesce(\(update.disabledCommunities), known.disabled_communities),
                       CASE WHEN \(update.changesIcon) THEN excluded.icon_url ELSE known.icon_url END, NULL
                WHERE known.removed_at IS NULL
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

    /// Forgets those that somebody removed longest ago, where there are more than `limit`.
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

    /// Adds those that are not there, not even as removed; answers their names.
    func add(_ new: [NewSubscription], to user: User.ID, upTo limit: Int) async throws -> [String] {
        try await db.all(
            """
            INSERT INTO subscriptions (application_id, user_id, broadcaster, name, icon_url)
            SELECT \(user.application), \(user.user), broadcaster, name, icon
            FROM unnest(\(new.map(\.name.folded)), \(new.map(\.name.text)), \(new.map(\.icon)))
                WITH ORDINALITY AS found (broadcaster, name, icon, ordinal)
            WHERE NOT EXISTS (
                SELECT FROM subscriptions AS known
                WHERE known.application_id = \(user.application) AND known.user_id = \(user.user)
                    AND known.broadcaster = found.broadcaster
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
