import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Serves the first pages of what is read of all networks, and what comes after them, to GET and POST alike.
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

    /// A post where there is `data`, else as GET.
    func feedOrPost(request: Request, context: UserContext) async throws -> Response {
        try await reader.reading(request, context, takesFiles: true) { parsed in
            guard let data = parsed.data else {
                return try .json(await reading.read(.feed, parsed.reading, for: parsed.caller))
            }
            return try .json(await postService.create(data, parsed.files, for: parsed.caller, key: parsed.key))
        }
    }

    /// A reply where there is `data`, else as GET.
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

    /// A thread's messages where one is named, else the next threads.
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
