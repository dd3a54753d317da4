import AuthAPI
import Foundation
import Hummingbird
import ServiceHost
import Wire

/// Serves the operator's commands on accounts, below `/internal/accounts`.
struct OperatorRoutes {
    let reports: AccountReports
    let disabled: DisabledAccounts
    let accountDeletions: AccountDeletions
    let sessionRevocations: SessionRevocations
    let sessions: Sessions
    let audit: AuditLog

    func add(to routes: SuiteRoutes) {
        let routes = routes.internalRoutes(from: [.operatorCommand])
        routes.get("accounts", use: list)
        routes.get("accounts/{account}", use: show)
        routes.delete("accounts/{account}", use: delete)
        routes.post("accounts/{account}/disable", use: disable)
        routes.post("accounts/{account}/enable", use: enable)
        routes.get("accounts/{account}/sessions", use: listSessions)
        routes.delete("accounts/{account}/sessions", use: endAllSessions)
        routes.delete("accounts/{account}/sessions/{id}", use: endSession)
        routes.get("accounts/{account}/audit", use: listEvents)
    }

    func list(request: Request, context: InternalContext) async throws -> Page<AccountReport> {
        try await reports.list(
            named: request.query("name"),
            after: request.query("after"),
            limit: request.limit()
        )
    }

    func show(request: Request, context: InternalContext) async throws -> JSONResponse<AccountReport> {
        JSONResponse(try await reports.show(context.path("account")))
    }

    func delete(request: Request, context: InternalContext) async throws -> JSONResponse<Done> {
        try await accountDeletions.delete(try await account(context))
        return JSONResponse(Done(), status: .accepted)
    }

    func disable(request: Request, context: InternalContext) async throws -> JSONResponse<Done> {
        try await disabled.disable(try await account(context))
        return JSONResponse(Done())
    }

    func enable(request: Request, context: InternalContext) async throws -> JSONResponse<Done> {
        try await disabled.enable(try await account(context))
        return JSONResponse(Done())
    }

    func listSessions(request: Request, context: InternalContext) async throws -> Page<Session> {
        Page(try await sessions.list(of: user(try await account(context)), limit: 100).items)
    }

    func endAllSessions(request: Request, context: InternalContext) async throws -> JSONResponse<Done> {
        try await sessionRevocations.endAll(of: user(try await account(context)))
        return JSONResponse(Done())
    }

    func endSession(request: Request, context: InternalContext) async throws -> JSONResponse<Done> {
        try await sessions.end(context.path("id"), of: user(try await account(context)))
        return JSONResponse(Done())
    }

    func listEvents(request: Request, context: InternalContext) async throws -> Page<SecurityEvent> {
        try await audit.list(
            of: user(try await account(context)),
            limit: request.limit(),
            cursor: request.query("cursor")
        )
    }

    private func account(_ context: InternalContext) async throws -> UUID {
        try await reports.id(of: context.path("account"))
    }

    private func user(_ account: UUID) -> User.ID {
        User.ID(application: RoostApplication.id, user: account.wire)
    }
}
