import Credentials
import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

/// Serves flags: a user flags a post or a comment.
///
/// Administrators and the application's server list flags and hide posts.
struct FlagRoutes {
    let flags: Flags

    func add(to routes: SuiteRoutes) {
        routes.user.put("photos/posts/:id/flag", use: flagPost)
        routes.user.put("photos/posts/:id/comments/:commentId/flag", use: flagComment)
        routes.server.get("photos/flags", use: list)
        routes.server.put("photos/posts/:id/hidden", use: hide)
        routes.server.delete("photos/posts/:id/hidden", use: restore)
    }

    func flagPost(request: Request, context: UserContext) async throws -> JSONResponse<FlagResponse> {
        JSONResponse(try await flags.flag(FlagTarget(post: context.post(), comment: nil), by: context.user))
    }

    func flagComment(request: Request, context: UserContext) async throws -> JSONResponse<FlagResponse> {
        let comment = try context.comment()
        return JSONResponse(
            try await flags.flag(FlagTarget(post: comment.post, comment: comment.number), by: context.user)
        )
    }

    func list(request: Request, context: ServerContext) async throws -> Page<Flag> {
        let (limit, cursor) = (try request.limit(), try request.query("cursor"))
        let user = context.identity.user
        return try await flags.list(of: context.application, for: user, limit: limit, cursor: cursor)
    }

    func hide(request: Request, context: ServerContext) async throws -> JSONResponse<Post> {
        JSONResponse(try await flags.set(hidden: true, context.post(), in: context.application))
    }

    func restore(request: Request, context: ServerContext) async throws -> JSONResponse<Post> {
        JSONResponse(try await flags.set(hidden: false, context.post(), in: context.application))
    }
}
