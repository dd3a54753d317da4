import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// The route of `/stream`: the changes on a user's networks as server-sent events.
struct StreamRoutes {
    let realtime: RealtimeModule

    func add(to routes: SuiteRoutes) {
        routes.streams.get("stream", use: stream)
    }

    func stream(request: Request, context: UserContext) async throws -> Response {
        // A HEAD request only confirms that the route exists, and does not open a stream.
        guard request.method == .get else { return EventStreamResponse.head }
        let stream = try await realtime.stream(for: context.identity, after: request.lastEventID())
        return EventStreamResponse(stream, writeTimeout: realtime.settings.writeTimeout).response(to: request)
    }
}
