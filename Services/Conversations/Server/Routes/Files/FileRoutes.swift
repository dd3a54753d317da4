import Hummingbird
import ServiceHost
import Wire

/// Serves file links at `/media/conversations/{key}`, which need no credential.
struct FileRoutes {
    let files: Files

    func add(to routes: SuiteRoutes) {
        routes.open.get("media/conversations/:key", use: show)
    }

    func show(request: Request, context: SuiteContext) async throws -> Response {
        let (key, lifetime) = try files.links.verify(
            context.path("key"),
            expires: request.query("expires"),
            signature: request.query("signature")
        )
        return try await FileResponse(file: files.open(key), lifetime: lifetime).response(to: request, context: context)
    }
}
