import Hummingbird
import NIOHTTP1
import ServiceHost

/// Serves images at `/media/{key}` without authentication; keys are random and cannot be guessed.
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

/// Serves recently requested images from the cache, without the router.
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
