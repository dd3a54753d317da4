import Hummingbird
import ServiceHost

/// Serves images under keys that nobody guesses: `/media/{key}`, without a credential.
struct MediaRoutes {
    let media: Media

    func add(to routes: SuiteRoutes) {
        routes.open.get("media/:key", use: show)
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        let served = try await media.find(context.path("key"))
        let reply = BlobReply(
            eTag: "\"\(served.key.blob)\"",
            size: served.size,
            cacheControl: "public, max-age=31536000, immutable",
            mediaType: served.mediaType,
            disposition: "inline"
        )
        return try await reply.response(to: request, requestID: context.requestID) { try await media.open(served) }
    }
}
