import ConversationsAPI
import Hummingbird
import ServiceHost
import Wire

/// Serves `/conversations/search`.
struct SearchRoutes {
    let search: Search

    func add(to routes: SuiteRoutes) {
        routes.user.get("conversations/search", use: find)
    }

    func find(request: Request, context: UserContext) async throws -> Page<FoundMessage> {
        let (limit, cursor) = (try request.limit(), try request.query("cursor"))
        return try await search.find(request.query("q"), by: context.user, limit: limit, cursor: cursor)
    }
}
