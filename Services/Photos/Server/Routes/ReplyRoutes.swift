import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

/// Serves what people say of a post: comments and likes.
struct ReplyRoutes {
    let comments: Comments
    let likes: Likes

    func add(to routes: SuiteRoutes) {
        routes.user.get("photos/posts/:id/comments", use: listComments)
        routes.user.post("photos/posts/:id/comments", use: addComment)
        routes.user.patch("photos/posts/:id/comments/:commentId", use: editComment)
        routes.user.delete("photos/posts/:id/comments/:commentId", use: deleteComment)
        routes.user.put("photos/posts/:id/like", use: like)
        routes.user.delete("photos/posts/:id/like", use: unlike)
        routes.user.get("photos/posts/:id/likes", use: listLikes)
    }

    func listComments(request: Request, context: UserContext) async throws -> Page<Comment> {
        let (post, limit) = (try context.post(), try request.limit())
        return try await comments.list(of: post, for: context.user, limit: limit, cursor: request.query("cursor"))
    }

    func addComment(request: Request, context: UserContext) async throws -> Reply<Comment> {
        let draft = try await request.decode(as: CommentDraft.self, context: context)
        return Reply(try await comments.add(draft, to: context.post(), by: context.user))
    }

    func editComment(request: Request, context: UserContext) async throws -> Reply<Comment> {
        let draft = try await request.decode(as: CommentDraft.self, context: context)
        return Reply(try await comments.edit(context.comment(), draft, by: context.user))
    }

    func deleteComment(request: Request, context: UserContext) async throws -> Reply<Removal> {
        Reply(try await comments.delete(context.comment(), by: context.user))
    }

    func like(request: Request, context: UserContext) async throws -> Reply<LikeState> {
        Reply(try await likes.like(context.post(), by: context.user))
    }

    func unlike(request: Request, context: UserContext) async throws -> Reply<LikeState> {
        Reply(try await likes.unlike(context.post(), by: context.user))
    }

    func listLikes(request: Request, context: UserContext) async throws -> Page<Like> {
        let (post, limit) = (try context.post(), try request.limit())
        return try await likes.list(of: post, for: context.user, limit: limit, cursor: request.query("cursor"))
    }
}
