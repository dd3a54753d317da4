import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves the streams of events below `/photos`.
struct StreamRoutes {
    let live: Live

    func add(to routes: SuiteRoutes) {
        _ = routes.user.add(middleware: RingAfterChange(ring: live.ring))
        _ = routes.server.add(middleware: RingAfterChange(ring: live.ring))
        routes.streams.get("photos/home/stream") { try await stream(.home, $0, $1) }
        routes.streams.get("photos/posts/stream") { try await stream(.all, $0, $1) }
        routes.streams.get("photos/posts/:id/stream") { try await stream(.post($1.post()), $0, $1) }
    }

    private func stream(
        _ scope: ChangeScope,
        _ request: Request,
        _ context: UserContext
    ) async throws -> Response {
        // Who asks for the head alone is told that there is a stream, and takes no place.
        guard request.method == .get else { return EventStreamReply.head }
        let stream = try await live.stream(scope, for: context.identity, after: request.lastEventID())
        return EventStreamReply(stream, patience: live.settings.patience).response(to: request)
    }
}

/// Has what a request noted told at once: once it is answered, all that it did is committed.
struct RingAfterChange<Context: RequestContext>: RouterMiddleware {
    let ring: @Sendable () -> Void

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        if request.method != .get, request.method != .head { ring() }
        return response
    }
}
