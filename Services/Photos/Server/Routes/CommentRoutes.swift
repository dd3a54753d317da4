import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

struct CommentRoutes {
    let comments: Comments
    let likes: Likes

    func add(to routes: SuiteRoutes) {
        routes.user.get("photos/posts/:id/comments", use: listComments)
        routes.user.post("photos/posts/:id/comments", use: createComment)
        routes.user.patch("photos/posts/:id/comments/:commentId", use: updateComment)
        routes.user.delete("photos/posts/:id/comments/:commentId", use: deleteComment)
        routes.user.put("photos/posts/:id/like", use: like)
        routes.user.delete("photos/posts/:id/like", use: unlike)
        routes.user.get("photos/posts/:id/likes", use: listLikes)
    }

    func listComments(request: Request, context: UserContext) async throws -> Page<Comment> {
        let (post, limit) = (try context.post(), try request.limit())
        return try await comments.list(of: post, for: context.user, limit: limit, cursor: request.query("cursor"))
    }

    func createComment(request: Request, context: UserContext) async throws -> JSONResponse<Comment> {
        let draft = try await request.decode(as: CommentDraft.self, context: context)
        return JSONResponse(try await comments.create(draft, to: context.post(), by: context.user))
    }

    func updateComment(request: Request, context: UserContext) async throws -> JSONResponse<Comment> {
        let draft = try await request.decode(as: CommentDraft.self, context: context)
        return JSONResponse(try await comments.update(context.comment(), draft, by: context.user))
    }

    func deleteComment(request: Request, context: UserContext) async throws -> JSONResponse<DeleteResponse> {
        JSONResponse(try await comments.delete(context.comment(), by: context.user))
    }

    func like(request: Request, context: UserContext) async throws -> JSONResponse<LikeState> {
        JSONResponse(try await likes.like(context.post(), by: context.user))
    }

    func unlike(request: Request, context: UserContext) async throws -> JSONResponse<LikeState> {
        JSONResponse(try await likes.unlike(context.post(), by: context.user))
    }

    func listLikes(request: Request, context: UserContext) async throws -> Page<Like> {
        let (post, limit) = (try context.post(), try request.limit())
        return try await likes.list(of: post, for: context.user, limit: limit, cursor: request.query("cursor"))
    }
}
