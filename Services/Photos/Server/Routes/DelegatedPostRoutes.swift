import Foundation
import Hummingbird
import PhotosAPI
import ServiceHost
import Wire

/// Serves `/internal/posts` and `/internal/uploads`, where the social service creates posts on behalf of users.
struct DelegatedPostRoutes {
    let delegatedPosts: DelegatedPosts
    let uploads: Uploads

    func add(to routes: SuiteRoutes) {
        let routes = routes.internalRoutes(from: [.social])
        routes.post("posts", use: create)
        routes.get("posts/:key", use: show)
        routes.post("uploads", use: upload)
    }

    func create(request: Request, context: InternalContext) async throws -> JSONResponse<DelegatedPost> {
        JSONResponse(try await delegatedPosts.create(request.decode(as: DelegatedPostRequest.self, context: context)))
    }

    func show(request: Request, context: InternalContext) async throws -> JSONResponse<DelegatedPost> {
        guard let key = UUID(uuidString: try context.path("key")) else { throw Posts.notFound }
        return JSONResponse(try await delegatedPosts.find(key, of: request.owner()))
    }

    func upload(request: Request, context: InternalContext) async throws -> JSONResponse<Upload> {
        let reader = try ImageReader(request, limit: uploads.limits.bytes)
        return JSONResponse(try await uploads.create(from: request.owner()) { try await reader.read(into: $0) })
    }
}

extension Request {
    /// Returns the user on whose behalf the service calls, from the query fields `application` and `userId`.
    fileprivate func owner() throws -> User.ID {
        guard let application = try query("application"), !application.isEmpty else {
            throw APIError.missing("application")
        }
        guard let user = try query("userId"), !user.isEmpty else { throw APIError.missing("userId") }
        return User.ID(application: application, user: user)
    }
}
