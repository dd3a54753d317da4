import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

struct StreamRoutes {
    let liveUpdates: LiveUpdates

    func add(to routes: SuiteRoutes) {
        _ = routes.user.add(middleware: NotifyAfterChange(notify: liveUpdates.notify))
        _ = routes.server.add(middleware: NotifyAfterChange(notify: liveUpdates.notify))
        routes.streams.get("photos/home/stream") { try await stream(.home, $0, $1) }
        routes.streams.get("photos/posts/stream") { try await stream(.all, $0, $1) }
        routes.streams.get("photos/posts/:id/stream") { try await stream(.post($1.post()), $0, $1) }
    }

    private func stream(
        _ scope: ChangeScope,
        _ request: Request,
        _ context: UserContext
    ) async throws -> Response {
        // A HEAD request gets the headers of a stream and opens none.
        guard request.method == .get else { return EventStreamResponse.head }
        let stream = try await liveUpdates.stream(scope, for: context.identity, after: request.lastEventID())
        return EventStreamResponse(stream, writeTimeout: liveUpdates.settings.writeTimeout).response(to: request)
    }
}

/// Signals new changes after each request other than GET and HEAD: when the handler returns, its transaction is
/// committed.
struct NotifyAfterChange<Context: RequestContext>: RouterMiddleware {
    let notify: @Sendable () -> Void

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let response = try await next(request, context)
        if request.method != .get, request.method != .head { notify() }
        return response
    }
}
