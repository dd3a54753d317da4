import Postgres
import ServiceHost
import Wire

/// Reads a user's data from push's tables for the export.
///
/// The export has no tokens, because anyone with a token can send notifications to the device.
struct ExportStore<Executor: PostgresExecutor> {
    let db: Executor

    func devices(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'deviceId', device_id, 'platform', platform, 'badge', badge, 'language', language, 'locKeys', loc_keys,
                'registeredAt', \(unsafe: ExportPages.time("registered_at")),
                'seenAt', \(unsafe: ExportPages.time("seen_at")), 'disabledReason', disabled_reason
            )::text AS row
            FROM devices
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            ORDER BY device_key
            """,
            of: db
        )
    }

    func settings(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'enabled', enabled, 'quietStartMinute', quiet_start, 'quietEndMinute', quiet_end,
                'timeZone', time_zone, 'disabledCommunities', disabled_communities, 'disabledKinds', disabled_kinds
            )::text AS row
            FROM settings
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """,
            of: db
        )
    }

    func subscriptions(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object(
                'broadcaster', name, 'notify', notify, 'cooldown', cooldown, 'sound', sound,
                'disabledCommunities', disabled_communities, 'iconUrl', icon_url,
                'removedAt', \(unsafe: ExportPages.time("removed_at"))
            )::text AS row
            FROM subscriptions
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            ORDER BY broadcaster
            """,
            of: db
        )
    }

    func topics(of user: User.ID) async throws -> [JSONValue] {
        try await ExportPages.all(
            """
            SELECT json_build_object('topic', topic)::text AS row FROM topic_subscriptions
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            ORDER BY topic
            """,
            of: db
        )
    }

    func log(of user: User.ID, after position: [Int64]?) async throws -> ExportPages.Page {
        try await ExportPages.page(
            """
            SELECT ARRAY[log.entry_id] AS place, json_build_object(
                'kind', notifications.kind, 'title', notifications.title, 'body', notifications.body,
                'outcome', log.outcome, 'reason', log.reason, 'at', \(unsafe: ExportPages.time("log.logged_at")),
                'deviceId', log.device_id, 'platform', log.platform
            )::text AS row
            FROM log LEFT JOIN notifications ON notifications.notification_key = log.notification_key
            WHERE log.application_id = \(user.application) AND log.user_id = \(user.user)
                AND log.entry_id > \(position?.first ?? 0)
            ORDER BY log.entry_id
            LIMIT \(ExportPages.limit)
            """,
            of: db
        )
    }
}
