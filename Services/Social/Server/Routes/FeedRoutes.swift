import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Serves the first pages of what is read of all networks, and what comes after them, to GET and POST alike.
struct FeedRoutes {
    let reader: RequestReader
    let reading: Reading
    let writing: Writing

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

    func feed(request: Request, context: UserContext) async throws -> Reply<SocialAnswer> {
        try await reader.reading(request, context) { asked in
            Reply(try await reading.read(.feed, asked.reading, for: asked.asker))
        }
    }

    /// A post where there is `data`, else as GET.
    func feedOrPost(request: Request, context: UserContext) async throws -> Response {
        try await reader.reading(request, context, takesFiles: true) { asked in
            guard let data = asked.data else {
                return try .json(await reading.read(.feed, asked.reading, for: asked.asker))
            }
            return try .json(await writing.write(data, asked.files, for: asked.asker, key: asked.key))
        }
    }

    /// A reply where there is `data`, else as GET.
    func threadsOrReply(request: Request, context: UserContext) async throws -> Response {
        try await reader.reading(request, context) { asked in
            guard let data = asked.data else {
                return try .json(await reading.read(.threads, asked.reading, for: asked.asker))
            }
            return try .json(await writing.reply(data, for: asked.asker, key: asked.key))
        }
    }

    func threads(request: Request, context: UserContext) async throws -> Reply<SocialAnswer> {
        try await reader.reading(request, context) { asked in
            Reply(try await reading.read(.threads, asked.reading, for: asked.asker))
        }
    }

    func notifications(request: Request, context: UserContext) async throws -> Reply<SocialAnswer> {
        try await reader.reading(request, context) { asked in
            guard asked.data == nil else {
                throw APIError(.methodNotAllowed, "read_only", "notifications can only be read")
            }
            return Reply(try await reading.read(.notifications, asked.reading, for: asked.asker))
        }
    }

    /// A thread's messages where one is named, else the next threads.
    func messages(request: Request, context: UserContext) async throws -> Reply<SocialAnswer> {
        try await reader.reading(request, context) { asked in
            guard let thread = asked.thread else {
                return Reply(try await reading.read(.threads, asked.reading, for: asked.asker))
            }
            guard let network = asked.network else { throw APIError.missing("network") }
            return Reply(try await reading.messages(of: thread, on: network, asked.reading, for: asked.asker))
        }
    }
}
