import Credentials
import Foundation
import HTTPTypes
import Hummingbird
import ServiceHost
import SocialAPI
import Wire

/// Reads what a request of a list says, in its query, its body or both.
struct RequestReader: Sendable {
    /// A request as the rules want it.
    struct ParsedRequest: Sendable {
        var caller: Caller
        var reading: FeedReader.Request
        var network: Network?
        var thread: String?
        /// What is to be posted, where something is.
        var data: JSONValue?
        var files = PostService.Files()
        /// When, of a post for later.
        var at: Date?
        /// By which a post is known that comes again.
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
            // A file alone is a post too.
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

    /// Reads a request and does what it asks for.
    ///
    /// A form is in memory until that is done, so there are few at once, of one user and in all; `takesFiles` says whether
    /// it may bring files.
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

    /// A body that may be left out, also of a GET.
    private static func body(of request: Request, _ context: UserContext) async throws -> SocialRequest {
        try await request.decodeOptional(as: SocialRequest.self, limits: .large, context: context) ?? SocialRequest()
    }

    private static func network(_ name: String) throws -> Network {
        guard let network = Network(named: name) else {
            throw APIError.invalid("network", "there is no network \"\(name)\"")
        }
        return network
    }

    /// Whatever names it on its network goes into addresses.
    private static func thread(_ name: String?) throws -> String? {
        guard name?.utf8.count ?? 0 <= 1_024 else {
            throw APIError.invalid("thread", "a thread has at most 1,024 bytes")
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
    /// A yes or no from the query.
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
    /// What it is, however it came.
    var token: String {
        switch self {
        case .bearer(let token), .session(let token): token
        }
    }
}
