import AuthAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `GET /auth/audit`.
struct AuditRoutes {
    let auditLog: AuditLog

    func add(to routes: SuiteRoutes) {
        routes.user.get("auth/audit", use: list)
    }

    func list(request: Request, context: UserContext) async throws -> Page<SecurityEvent> {
        try await auditLog.list(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }
}
