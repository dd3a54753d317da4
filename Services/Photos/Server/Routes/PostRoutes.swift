import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

struct PostRoutes {
    let posts: Posts
    let lists: PostLists

    func add(to routes: SuiteRoutes) {
        routes.user.post("photos/posts", use: create)
        routes.user.get("photos/posts", use: list)
        routes.user.get("photos/posts/:id", use: show)
        routes.user.patch("photos/posts/:id", use: update)
        routes.user.delete("photos/posts/:id", use: delete)
        routes.user.get("photos/people/:userId/posts", use: listOfPerson)
        routes.user.get("photos/hashtags", use: search)
        routes.user.get("photos/hashtags/:tag", use: listOfHashtag)
    }

    func create(request: Request, context: UserContext) async throws -> JSONResponse<Post> {
        let draft = try await request.decode(as: PostDraft.self, context: context)
        return JSONResponse(try await posts.create(draft, by: context.user))
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Post> {
        JSONResponse(try await posts.show(context.post(), to: context.user))
    }

    func update(request: Request, context: UserContext) async throws -> JSONResponse<Post> {
        let changes = try await request.decode(as: PostChanges.self, context: context)
        return JSONResponse(try await posts.update(context.post(), changes, by: context.user))
    }

    func delete(request: Request, context: UserContext) async throws -> JSONResponse<DeleteResponse> {
        JSONResponse(try await posts.delete(context.post(), by: context.user))
    }

    func list(request: Request, context: UserContext) async throws -> Page<Post> {
        try await lists.general(for: context.user, limit: request.limit(), cursor: request.query("cursor"))
    }

    func listOfPerson(request: Request, context: UserContext) async throws -> Page<Post> {
        let (name, limit) = (try context.path("userId"), try request.limit())
        return try await lists.posts(of: name, for: context.user, limit: limit, cursor: request.query("cursor"))
    }

    func listOfHashtag(request: Request, context: UserContext) async throws -> Page<Post> {
        let (tag, limit) = (try context.path("tag"), try request.limit())
        return try await lists.tagged(tag, for: context.user, limit: limit, cursor: request.query("cursor"))
    }

    func search(request: Request, context: UserContext) async throws -> Page<Hashtag> {
        try await lists.search(request.query("query"), for: context.user)
    }
}
