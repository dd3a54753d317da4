import AuthAPI
import Credentials
import Hummingbird
import ServiceHost
import Wire

/// Serves `/auth/sessions` and `/auth/tickets`.
struct SessionRoutes {
    let sessions: Sessions
    let tickets: StreamTickets

    func add(to routes: SuiteRoutes) {
        routes.user.get("auth/sessions", use: list)
        routes.user.delete("auth/sessions", use: endOthers)
        routes.user.delete("auth/sessions/{id}", use: end)
        routes.user.post("auth/tickets", use: createTicket)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Session> {
        try await sessions.list(
            of: context.user,
            current: context.identity.session,
            limit: request.limit(),
            cursor: request.query("cursor")
        )
    }

    func end(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        try await sessions.end(context.path("id"), of: context.user)
        return JSONResponse(Done())
    }

    func endOthers(request: Request, context: UserContext) async throws -> JSONResponse<Done> {
        try await sessions.endOthers(of: context.identity)
        return JSONResponse(Done())
    }

    func createTicket(request: Request, context: UserContext) async throws -> Response {
        let draft =
            try await request.decodeOptional(as: StreamTicketDraft.self, context: context) ?? StreamTicketDraft()
        return try .secret(tickets.issue(draft, for: context.identity))
    }
}
