import Postgres
import PushAPI
import Wire

/// The changed settings; nil or an absent name leaves a setting unchanged.
struct SettingsUpdate: Sendable {
    let enabled: Bool?
    let changesQuietHours: Bool
    let quiet: QuietWindow?
    let disabledCommunities: [String]?
    let disabledKinds: [String]
    let enabledKinds: [String]
}

struct SettingsStore<Executor: PostgresExecutor> {
    private static var columns: String {
        "enabled, quiet_start, quiet_end, time_zone, disabled_communities, disabled_kinds"
    }

    let db: Executor

    /// Returns nil for a user without stored settings.
    func find(of user: User.ID) async throws -> NotificationSettings? {
        try await db.first(
            """
            SELECT \(unsafe: Self.columns) FROM settings
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """,
            as: NotificationSettings.init(row:)
        )
    }

    /// Changes settings in one statement, so that concurrent changes do not undo each other.
    func upsert(_ update: SettingsUpdate, of user: User.ID) async throws -> NotificationSettings {
        try await db.one(
            """
            INSERT INTO settings (application_id, user_id, enabled, quiet_start, quiet_end, time_zone,
                                  disabled_communities, disabled_kinds)
            VALUES (\(user.application), \(user.user), coalesce(\(update.enabled), true),
                    \(update.quiet?.start)::smallint, \(update.quiet?.end)::smallint, \(update.quiet?.timeZone),
                    coalesce(\(update.disabledCommunities), '{}'), \(update.disabledKinds))
            ON CONFLICT ON CONSTRAINT settings_pkey DO UPDATE
            SET enabled = coalesce(\(update.enabled), settings.enabled),
                quiet_start = CASE WHEN \(update.changesQuietHours)
                    THEN excluded.quiet_start ELSE settings.quiet_start END,
                quiet_end = CASE WHEN \(update.changesQuietHours) THEN excluded.quiet_end ELSE settings.quiet_end END,
                time_zone = CASE WHEN \(update.changesQuietHours) THEN excluded.time_zone ELSE settings.time_zone END,
                disabled_communities = coalesce(\(update.disabledCommunities), settings.disabled_communities),
                disabled_kinds = ARRAY(
                    SELECT unnest(settings.disabled_kinds || \(update.disabledKinds))
                    EXCEPT SELECT unnest(\(update.enabledKinds))
                    ORDER BY 1
                )
            RETURNING \(unsafe: Self.columns)
            """,
            as: NotificationSettings.init(row:)
        )
    }

    func delete(of user: User.ID) async throws {
        try await db.run(
            "DELETE FROM settings WHERE application_id = \(user.application) AND user_id = \(user.user)"
        )
    }
}

extension NotificationSettings {
    fileprivate init(row: PostgresRow) throws {
        let zone = try row.optionalString("time_zone")
        let (start, end) = (try row.optionalInt("quiet_start"), try row.optionalInt("quiet_end"))
        var quiet: QuietWindow?
        if let zone, let start, let end { quiet = QuietWindow(start: start, end: end, timeZone: zone) }
        self.init(
            enabled: try row.bool("enabled"),
            quietHours: quiet?.hours,
            disabledCommunities: try row.strings("disabled_communities"),
            // A kind that this release does not know is from a newer release.
            disabledKinds: try row.strings("disabled_kinds").compactMap(NotificationKind.init(rawValue:))
        )
    }
}
