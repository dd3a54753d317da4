import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Serves what is posted: to feeds at once or later, and in threads.
struct PostRoutes {
    let reader: RequestReader
    let writing: Writing

    func add(to routes: SuiteRoutes) {
        routes.user.post("feed/schedule", use: schedule)
        routes.user.get("feed/scheduled", use: list)
        routes.user.delete("feed/scheduled/:id", use: cancel)
    }

    func schedule(request: Request, context: UserContext) async throws -> Reply<ScheduledPost> {
        try await reader.reading(request, context, takesFiles: true) { asked in
            guard let data = asked.data else { throw APIError.missing("data") }
            return Reply(try await writing.schedule(data, asked.files, for: asked.asker, at: asked.at))
        }
    }

    func list(request: Request, context: UserContext) async throws -> Page<ScheduledPost> {
        try await writing.scheduled(of: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func cancel(request: Request, context: UserContext) async throws -> Reply<[String: Bool]> {
        try await writing.cancel(context.path("id"), of: context.user)
        return Reply(["success": true])
    }
}
