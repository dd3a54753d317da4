import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Reads the parameters of a request from its query, its body or both.
struct RequestReader: Sendable {
    struct ParsedRequest: Sendable {
        var caller: Caller
        var reading: FeedReader.Request
        var network: Network?
        var thread: String?
        /// The post or reply to create, if there is one.
        var data: JSONValue?
        var files = PostService.Files()
        /// The time of a scheduled post.
        var at: Date?
        /// The `Idempotency-Key`.
        var key: String?
    }

    let rules: AccountRules
    let slots: UploadConcurrencyLimit

    private func read(_ request: Request, _ context: UserContext, takesFiles: Bool) async throws -> ParsedRequest {
        let form = PostForm.isForm(request) ? try await PostForm(request, takesFiles: takesFiles) : nil
        let body = if let form { form.request } else { try await Self.body(of: request, context) }
        let network = try request.query("network") ?? body.network
        if body.data == nil, form?.hasFile != true { IdempotentRequest.markReadOnly() }
        let limit = try body.limit.map { try Self.checked($0) } ?? 20
        return ParsedRequest(
            caller: try caller(request, context, requestAccounts: body.meta),
            reading: FeedReader.Request(
                limit: try request.limit(default: limit),
                cursor: try request.query("cursor") ?? body.cursor,
                includesRaw: try request.flag("raw") ?? body.raw ?? false
            ),
            network: try network.map(Self.network),
            thread: try Self.thread(request.query("thread") ?? body.thread),
            // A form with only a file is a post too.
            data: body.data ?? (form?.hasFile == true ? .object([:]) : nil),
            files: PostService.Files(photo: form?.photo, video: form?.video),
            at: body.at,
            key: request.headers[.idempotencyKey]
        )
    }

    private func caller(
        _ request: Request,
        _ context: UserContext,
        requestAccounts: [Network: RequestAccount]
    ) throws -> Caller {
        var caller = Caller(user: context.user, credential: try Credential(request.headers)?.token ?? "")
        for (network, account) in requestAccounts {
            let prefix = "meta.\(network.rawValue)."
            caller.requestAccounts[network] = try rules.account(
                LinkDraft(account),
                on: network,
                of: context.user,
                field: prefix
            )
        }
        return caller
    }

    /// Reads a request and calls `body` with its parameters.
    ///
    /// A form stays in memory until `body` returns, so the number of forms is limited, per user and in total.
    /// `takesFiles` says whether the form may have files.
    func reading<Value>(
        _ request: Request,
        _ context: UserContext,
        takesFiles: Bool = false,
        _ body: (ParsedRequest) async throws -> Value
    ) async throws -> Value {
        guard PostForm.isForm(request) else { return try await body(read(request, context, takesFiles: false)) }
        let most = (takesFiles ? PostForm.maximumFile : 0) + PostForm.maximumFields
        let length = request.headers[.contentLength].flatMap { Int($0) } ?? most
        return try await slots.use(context.user, bytes: min(max(0, length), most)) {
            try await body(read(request, context, takesFiles: takesFiles))
        }
    }

    /// Returns the body, which is optional; a GET may have a body too.
    private static func body(of request: Request, _ context: UserContext) async throws -> SocialRequest {
        try await request.decodeOptional(as: SocialRequest.self, limits: .large, context: context) ?? SocialRequest()
    }

    private static func network(_ name: String) throws -> Network {
        guard let network = Network(named: name) else {
            throw APIError.invalid("network", "there is no network \"\(name)\"")
        }
        return network
    }

    /// Checks the length of a thread's id, which becomes part of a URL.
    private static func thread(_ name: String?) throws -> String? {
        guard name?.utf8.count ?? 0 <= 1_024 else {
            throw APIError.invalid("thread", "the thread id is too long; at most 1,024 bytes are allowed")
        }
        return name
    }

    private static func checked(_ limit: Int) throws -> Int {
        guard 1...100 ~= limit else {
            throw APIError.invalid("limit", "\"limit\" must be a whole number from 1 to 100")
        }
        return limit
    }
}

extension Request {
    /// Returns a boolean parameter of the query.
    fileprivate func flag(_ name: String) throws -> Bool? {
        switch try query(name) {
        case nil: nil
        case "1", "true", "": true
        case "0", "false": false
        default: throw APIError.invalid(name, "\"\(name)\" must be true or false")
        }
    }
}

extension Credential {
    /// The token, whether it is a bearer token or a session cookie.
    var token: String {
        switch self {
        case .bearer(let token), .session(let token): token
        }
    }
}
