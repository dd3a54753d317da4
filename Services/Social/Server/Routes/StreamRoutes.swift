import HTTPTypes
import Hummingbird
import ServiceHost
import Wire

/// Serves `/stream`: what changes on somebody's networks, as it does.
struct StreamRoutes {
    let realtime: RealtimeModule

    func add(to routes: SuiteRoutes) {
        routes.streams.get("stream", use: stream)
    }

    func stream(request: Request, context: UserContext) async throws -> Response {
        // Who asks for the head alone is told that there is a stream, and takes no place.
        guard request.method == .get else { return EventStreamResponse.head }
        let stream = try await realtime.stream(for: context.identity, after: request.lastEventID())
        return EventStreamResponse(stream, writeTimeout: realtime.settings.writeTimeout).response(to: request)
    }
}
