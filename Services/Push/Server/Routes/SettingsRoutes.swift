import Hummingbird
import PushAPI
import ServiceHost

struct SettingsRoutes {
    let settings: SettingsService

    func add(to routes: SuiteRoutes) {
        routes.user.get("notification-settings", use: show)
        routes.user.put("notification-settings", use: update)
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<NotificationSettings> {
        JSONResponse(try await settings.show(to: context.user))
    }

    func update(request: Request, context: UserContext) async throws -> JSONResponse<NotificationSettings> {
        let changes = try await request.decode(as: NotificationSettingsChanges.self, context: context)
        return JSONResponse(try await settings.update(changes, of: context.user))
    }
}
