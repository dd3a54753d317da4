import Postgres
import PushAPI
import Wire

/// What people say they want to be notified of, and when.
struct PersonalSettings: Sendable {
    let database: PostgresPool

    func show(to user: User.ID) async throws -> NotificationSettings {
        try await SettingsStore(db: database.reads).find(of: user) ?? NotificationSettings()
    }

    /// Changes what is named, and nothing else.
    func change(_ changes: NotificationSettingsChanges, of user: User.ID) async throws -> NotificationSettings {
        let update = SettingsUpdate(
            enabled: changes.enabled,
            namesQuietHours: changes.quietHours.isNamed,
            quiet: try changes.quietHours.value.map(QuietWindow.init),
            disabledCommunities: try changes.disabledCommunities.map(FoldedName.communities),
            disabledKinds: changes.kinds.filter { !$0.value }.map(\.key.rawValue).sorted(),
            enabledKinds: changes.kinds.filter(\.value).map(\.key.rawValue).sorted()
        )
        return try await SettingsStore(db: database).upsert(update, of: user)
    }
}
