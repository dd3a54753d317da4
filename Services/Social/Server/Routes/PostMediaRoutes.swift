import HTTPTypes
import Hummingbird
import ServiceHost

/// The route of `/feed/media/{token}`: serves a post's file to a network without a credential.
struct PostMediaRoutes {
    let media: PostMedia

    func add(to routes: SuiteRoutes) {
        routes.open.get("feed/media/:token", use: show)
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        let (reply, file) = try await media.find(context.path("token"))
        return try await reply.response(to: request, requestID: context.requestID) { file }
    }
}
