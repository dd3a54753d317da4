import Hummingbird
import PushAPI
import ServiceHost
import Wire

/// Serves `/push/notifications` for applications' servers, and `/notifications/log` for each user.
struct NotificationRoutes {
    let notifications: Notifications
    let log: NotificationLog

    func add(to routes: SuiteRoutes) {
        routes.user.get("notifications/log", use: list)
        routes.server.post("push/notifications", use: send)
        routes.server.get("push/notifications/:id", use: show)
        routes.server.delete("push/notifications/:id", use: cancel)
    }

    func list(request: Request, context: UserContext) async throws -> Page<NotificationRecord> {
        try await log.list(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func send(request: Request, context: ServerContext) async throws -> JSONResponse<NotificationReport> {
        let draft = try await request.decode(as: NotificationDraft.self, limits: .large, context: context)
        return JSONResponse(try await notifications.send(draft, as: context.application), status: .accepted)
    }

    func show(request: Request, context: ServerContext) async throws -> JSONResponse<NotificationReport> {
        JSONResponse(try await notifications.show(context.path("id"), of: context.application))
    }

    func cancel(request: Request, context: ServerContext) async throws -> JSONResponse<NotificationReport> {
        JSONResponse(try await notifications.cancel(context.path("id"), of: context.application))
    }
}
