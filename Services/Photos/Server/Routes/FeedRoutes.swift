import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

struct FeedRoutes {
    let home: HomeFeed

    func add(to routes: SuiteRoutes) {
        routes.user.get("photos/home", use: list)
    }

    func list(request: Request, context: UserContext) async throws -> Page<Post> {
        try await home.page(for: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }
}
