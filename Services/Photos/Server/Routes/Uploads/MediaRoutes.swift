import Hummingbird
import NIOHTTP1
import ServiceHost

/// Serves images under keys that nobody guesses: `/media/{key}`, without a credential.
struct MediaRoutes {
    let media: Media

    func add(to routes: SuiteRoutes) {
        routes.open.get("media/:key", use: show)
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        let served = try await media.find(context.path("key"))
        return try await served.reply.response(to: request, requestID: context.requestID) {
            try await media.open(served)
        }
    }
}

/// What was asked for a moment ago is answered without the routes.
struct MediaShortcut: Shortcut {
    let media: Media

    var route: String { "/media/{key}" }

    private static let path = "/media/"

    func answer(to request: HTTPRequestHead) -> ShortcutResponse? {
        guard request.uri.utf8.starts(with: Self.path.utf8),
            let found = media.cache.find(request.uri.dropFirst(Self.path.utf8.count))
        else { return nil }
        return found.reply.shortcutResponse(to: request) { media.openFile(found.served) }
    }
}
