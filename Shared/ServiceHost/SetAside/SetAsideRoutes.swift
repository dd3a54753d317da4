import Hummingbird
import Wire

/// The routes at `/internal/set-aside` for the operator's command, which lists, retries and drops failed rows.
struct SetAsideRoutes {
    let setAside: SetAside

    func add(to routes: SuiteRoutes) {
        let routes = routes.internalRoutes(from: [.operatorCommand])
        routes.get("set-aside", use: list)
        routes.get("set-aside/:id", use: show)
        routes.post("set-aside/retry", use: retry)
        routes.post("set-aside/drop", use: drop)
    }

    private func list(request: Request, context: InternalContext) async throws -> Page<SetAsideRow> {
        let id = try request.number("before", in: 0...Int64.max)
        return try await setAside.list(before: id, limit: request.limit())
    }

    private func show(request: Request, context: InternalContext) async throws -> JSONResponse<SetAsideRow> {
        guard let id = Int64(try context.path("id")) else {
            throw APIError(.notFound, "row_not_found", "no row with this id is set aside")
        }
        return JSONResponse(try await setAside.show(id))
    }

    private func retry(request: Request, context: InternalContext) async throws -> JSONResponse<SetAsideChange> {
        JSONResponse(try await setAside.retry(request.decode(as: SetAsideSelection.self, context: context)))
    }

    private func drop(request: Request, context: InternalContext) async throws -> JSONResponse<SetAsideChange> {
        JSONResponse(try await setAside.drop(request.decode(as: SetAsideSelection.self, context: context)))
    }
}
