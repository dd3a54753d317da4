import Hummingbird
import ServiceHost
import SocialAPI
import Wire

struct PostRoutes {
    let reader: RequestReader
    let postService: PostService

    func add(to routes: SuiteRoutes) {
        routes.user.post("feed/schedule", use: schedule)
        routes.user.get("feed/scheduled", use: list)
        routes.user.delete("feed/scheduled/:id", use: cancel)
    }

    func schedule(request: Request, context: UserContext) async throws -> JSONResponse<ScheduledPost> {
        try await reader.reading(request, context, takesFiles: true) { parsed in
            guard let data = parsed.data else { throw APIError.missing("data") }
            return JSONResponse(try await postService.schedule(data, parsed.files, for: parsed.caller, at: parsed.at))
        }
    }

    func list(request: Request, context: UserContext) async throws -> Page<ScheduledPost> {
        try await postService.scheduled(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func cancel(request: Request, context: UserContext) async throws -> JSONResponse<[String: Bool]> {
        try await postService.cancel(context.path("id"), of: context.user)
        return JSONResponse(["success": true])
    }
}
