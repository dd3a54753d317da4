import Foundation
import Postgres
import PushAPI
import Wire

struct SettingsService: Sendable {
    let database: PostgresPool
    let now: @Sendable () -> Date

    func show(to user: User.ID) async throws -> NotificationSettings {
        try await SettingsStore(db: database.reads).find(of: user) ?? NotificationSettings()
    }

    /// Changes the given settings; the others stay unchanged.
    func update(_ changes: NotificationSettingsChanges, of user: User.ID) async throws -> NotificationSettings {
        let update = SettingsUpdate(
            enabled: changes.enabled,
            changesQuietHours: changes.quietHours.isGiven,
            quiet: try changes.quietHours.value.map(QuietWindow.init),
            disabledCommunities: try changes.disabledCommunities.map(FoldedName.communities),
            disabledKinds: changes.kinds.filter { !$0.value }.map(\.key.rawValue).sorted(),
            enabledKinds: changes.kinds.filter(\.value).map(\.key.rawValue).sorted()
        )
        return try await database.transaction { db in
            // The new settings may end the wait of held notifications.
            try await HeldStore(db: db).release(user, at: now())
            return try await SettingsStore(db: db).upsert(update, of: user)
        }
    }
}
