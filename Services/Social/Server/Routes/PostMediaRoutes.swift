import HTTPTypes
import Hummingbird
import ServiceHost

/// Serves `/feed/media/{token}`: a post's file to the network that fetches it, without a credential.
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
