import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// The routes that read feeds, messages and notifications of all networks, with GET and POST.
struct FeedRoutes {
    let reader: RequestReader
    let reading: FeedReader
    let postService: PostService

    func add(to routes: SuiteRoutes) {
        routes.user.get("feed", use: feed)
        routes.user.post("feed", use: feedOrPost)
        routes.user.get("messages", use: threads)
        routes.user.post("messages", use: threadsOrReply)
        for method in [HTTPRequest.Method.get, .post] {
            routes.user.on("notifications", method: method, use: notifications)
            routes.user.on("scroll/feed", method: method, use: feed)
            routes.user.on("scroll/messages", method: method, use: messages)
            routes.user.on("scroll/notifications", method: method, use: notifications)
        }
    }

    func feed(request: Request, context: UserContext) async throws -> JSONResponse<SocialResponse> {
        try await reader.reading(request, context) { parsed in
            JSONResponse(try await reading.read(.feed, parsed.reading, for: parsed.caller))
        }
    }

    /// Creates a post if the body has `data`, and otherwise reads the feed.
    func feedOrPost(request: Request, context: UserContext) async throws -> Response {
        try await reader.reading(request, context, takesFiles: true) { parsed in
            guard let data = parsed.data else {
                return try .json(await reading.read(.feed, parsed.reading, for: parsed.caller))
            }
            return try .json(await postService.create(data, parsed.files, for: parsed.caller, key: parsed.key))
        }
    }

    /// Creates a reply if the body has `data`, and otherwise reads the threads.
    func threadsOrReply(request: Request, context: UserContext) async throws -> Response {
        try await reader.reading(request, context) { parsed in
            guard let data = parsed.data else {
                return try .json(await reading.read(.threads, parsed.reading, for: parsed.caller))
            }
            return try .json(await postService.reply(data, for: parsed.caller, key: parsed.key))
        }
    }

    func threads(request: Request, context: UserContext) async throws -> JSONResponse<SocialResponse> {
        try await reader.reading(request, context) { parsed in
            JSONResponse(try await reading.read(.threads, parsed.reading, for: parsed.caller))
        }
    }

    func notifications(request: Request, context: UserContext) async throws -> JSONResponse<SocialResponse> {
        try await reader.reading(request, context) { parsed in
            guard parsed.data == nil else {
                throw APIError(.methodNotAllowed, "read_only", "notifications can only be read")
            }
            return JSONResponse(try await reading.read(.notifications, parsed.reading, for: parsed.caller))
        }
    }

    /// Returns a thread's messages if the request names a thread, and otherwise the next threads.
    func messages(request: Request, context: UserContext) async throws -> JSONResponse<SocialResponse> {
        try await reader.reading(request, context) { parsed in
            guard let thread = parsed.thread else {
                return JSONResponse(try await reading.read(.threads, parsed.reading, for: parsed.caller))
            }
            guard let network = parsed.network else { throw APIError.missing("network") }
            return JSONResponse(try await reading.messages(of: thread, on: network, parsed.reading, for: parsed.caller))
        }
    }
}
