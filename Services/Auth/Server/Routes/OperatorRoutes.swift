import AuthAPI
import Foundation
import Hummingbird
import ServiceHost
import Wire

/// Serves what the operator asks about accounts and does to them, below `/internal/accounts`.
struct OperatorRoutes {
    let reports: AccountReports
    let disabled: DisabledAccounts
    let erasure: AccountErasure
    let ends: SessionEnds
    let sessions: Sessions
    let audit: AuditLists

    func add(to routes: SuiteRoutes) {
        routes.neighbour.get("accounts", use: list)
        routes.neighbour.get("accounts/{account}", use: show)
        routes.neighbour.delete("accounts/{account}", use: delete)
        routes.neighbour.post("accounts/{account}/disable", use: disable)
        routes.neighbour.post("accounts/{account}/enable", use: enable)
        routes.neighbour.get("accounts/{account}/sessions", use: listSessions)
        routes.neighbour.delete("accounts/{account}/sessions", use: endAllSessions)
        routes.neighbour.delete("accounts/{account}/sessions/{id}", use: endSession)
        routes.neighbour.get("accounts/{account}/audit", use: listEvents)
    }

    func list(request: Request, context: NeighbourContext) async throws -> Page<AccountReport> {
        try context.requireOperator()
        return try await reports.list(
            named: request.query("name"),
            after: request.query("after"),
            limit: request.limit()
        )
    }

    func show(request: Request, context: NeighbourContext) async throws -> Reply<AccountReport> {
        try context.requireOperator()
        return Reply(try await reports.show(context.path("account")))
    }

    func delete(request: Request, context: NeighbourContext) async throws -> Reply<Done> {
        try await erasure.delete(try await account(context))
        return Reply(Done(), status: .accepted)
    }

    func disable(request: Request, context: NeighbourContext) async throws -> Reply<Done> {
        try await disabled.disable(try await account(context))
        return Reply(Done())
    }

    func enable(request: Request, context: NeighbourContext) async throws -> Reply<Done> {
        try await disabled.enable(try await account(context))
        return Reply(Done())
    }

    func listSessions(request: Request, context: NeighbourContext) async throws -> Page<Session> {
        // The newest of them.
        Page(try await sessions.list(of: user(try await account(context)), limit: 100).things)
    }

    func endAllSessions(request: Request, context: NeighbourContext) async throws -> Reply<Done> {
        try await ends.endAll(of: user(try await account(context)))
        return Reply(Done())
    }

    func endSession(request: Request, context: NeighbourContext) async throws -> Reply<Done> {
        try await sessions.end(context.path("id"), of: user(try await account(context)))
        return Reply(Done())
    }

    func listEvents(request: Request, context: NeighbourContext) async throws -> Page<SecurityEvent> {
        try await audit.list(
            of: user(try await account(context)),
            limit: request.limit(),
            cursor: request.query("cursor")
        )
    }

    /// Whose account is meant, for the operator alone.
    private func account(_ context: NeighbourContext) async throws -> UUID {
        try context.requireOperator()
        return try await reports.id(of: context.path("account"))
    }

    private func user(_ account: UUID) -> User.ID {
        User.ID(application: RoostApplication.id, user: account.wire)
    }
}
