import Hummingbird
import PushAPI
import ServiceHost

/// Serves `/notification-settings`.
struct SettingsRoutes {
    let settings: PersonalSettings

    func add(to routes: SuiteRoutes) {
        routes.user.get("notification-settings", use: show)
        routes.user.put("notification-settings", use: change)
    }

    func show(request: Request, context: UserContext) async throws -> Reply<NotificationSettings> {
        Reply(try await settings.show(to: context.user))
    }

    func change(request: Request, context: UserContext) async throws -> Reply<NotificationSettings> {
        let changes = try await request.decode(as: NotificationSettingsChanges.self, context: context)
        return Reply(try await settings.change(changes, of: context.user))
    }
}
