import Hummingbird
import PushAPI
import ServiceHost

struct TopicRoutes {
    let topics: Topics

    func add(to routes: SuiteRoutes) {
        routes.user.put("topics/:topic/subscription", use: join)
        routes.user.delete("topics/:topic/subscription", use: leave)
    }

    func join(request: Request, context: UserContext) async throws -> JSONResponse<TopicSubscription> {
        JSONResponse(try await topics.join(context.path("topic"), context.user))
    }

    func leave(request: Request, context: UserContext) async throws -> JSONResponse<TopicSubscription> {
        JSONResponse(try await topics.leave(context.path("topic"), context.user))
    }
}
