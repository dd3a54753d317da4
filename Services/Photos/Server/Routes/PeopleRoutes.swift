import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

struct PeopleRoutes {
    let profiles: Profiles
    let search: PeopleSearch
    let follows: Follows

    func add(to routes: SuiteRoutes) {
        routes.user.get("photos/me", use: showOwn)
        routes.user.patch("photos/me", use: update)
        routes.user.get("photos/me/privacy", use: showPrivacy)
        routes.user.put("photos/me/privacy", use: updatePrivacy)
        routes.user.get("photos/people", use: find)
        routes.user.get("photos/people/:userId", use: show)
        routes.user.put("photos/people/:userId/follow", use: follow)
        routes.user.delete("photos/people/:userId/follow", use: unfollow)
        routes.user.get("photos/people/:userId/followers", use: listFollowers)
        routes.user.get("photos/people/:userId/following", use: listFollowing)
    }

    func showOwn(request: Request, context: UserContext) async throws -> JSONResponse<Profile> {
        JSONResponse(try await profiles.own(of: context.user))
    }

    func update(request: Request, context: UserContext) async throws -> JSONResponse<Profile> {
        let changes = try await request.decode(as: ProfileChanges.self, context: context)
        return JSONResponse(try await profiles.update(changes, of: context.user))
    }

    func showPrivacy(request: Request, context: UserContext) async throws -> JSONResponse<Privacy> {
        JSONResponse(try await profiles.privacy(of: context.user))
    }

    func updatePrivacy(request: Request, context: UserContext) async throws -> JSONResponse<Privacy> {
        let privacy = try await request.decode(as: Privacy.self, context: context)
        return JSONResponse(try await profiles.update(privacy, of: context.user))
    }

    func find(request: Request, context: UserContext) async throws -> Page<Profile> {
        let (query, users) = (try request.query("query"), try request.queries("userId"))
        switch (query, users.isEmpty) {
        case (nil, true):
            throw APIError.invalid("query", "either \"query\" or \"userId\" is required", code: "missing_field")
        case (.some, false):
            throw APIError.invalid(
                "userId",
                "\"query\" and \"userId\" must not be sent together",
                code: "conflicting_parameters"
            )
        case (.some, true): return try await search.find(query, by: context.user)
        case (nil, false): return try await profiles.list(users, for: context.user)
        }
    }

    func show(request: Request, context: UserContext) async throws -> JSONResponse<Profile> {
        JSONResponse(try await profiles.show(context.path("userId"), to: context.user))
    }

    func follow(request: Request, context: UserContext) async throws -> JSONResponse<Profile> {
        JSONResponse(try await follows.follow(context.path("userId"), by: context.user))
    }

    func unfollow(request: Request, context: UserContext) async throws -> JSONResponse<Profile> {
        JSONResponse(try await follows.unfollow(context.path("userId"), by: context.user))
    }

    func listFollowers(request: Request, context: UserContext) async throws -> Page<Profile> {
        let (limit, cursor) = (try request.limit(), try request.query("cursor"))
        return try await follows.followers(
            of: context.path("userId"),
            for: context.user,
            limit: limit,
            cursor: cursor
        )
    }

    func listFollowing(request: Request, context: UserContext) async throws -> Page<Profile> {
        let (limit, cursor) = (try request.limit(), try request.query("cursor"))
        return try await follows.following(
            of: context.path("userId"),
            for: context.user,
            limit: limit,
            cursor: cursor
        )
    }
}
