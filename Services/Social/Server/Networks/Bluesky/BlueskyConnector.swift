import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// Bluesky, and any other PDS of the AT Protocol.
///
/// An account's tokens are a session's pair, an access token for two hours and a refresh token that can be used once, or what
/// its server granted this application (OAuth). Asked is the account's own PDS, which passes on to the AppView what is not its own, and to the chat service what says so.
struct BlueskyConnector: Connector {
    let network = Network.bluesky
    let key: ApplicationKey
    let calls: NetworkCalls
    let pause: Pause
    let nonces = DPoPNonces()

    static let defaultURL = "https://bsky.social"

    init(_ parts: ConnectorParts, pause: @escaping Pause = { try await Task.sleep(for: $0) }) {
        key = parts.key
        calls = NetworkCalls(parts, Self.errorMapping)
        self.pause = pause
    }

    private struct Position: Codable { var cursor: String }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = BlueskyItems(page: page)
        return try await list("app.bsky.feed.getTimeline", "feed", page, account) { parser.post($0) }
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = BlueskyItems(page: page)
        return try await list("app.bsky.notification.listNotifications", "notifications", page, account) {
            parser.notification($0).map { NetworkItem($0) }
        }
    }

    func threads(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = BlueskyItems(page: page)
        return try await list("chat.bsky.convo.listConvos", "convos", page, account) {
            parser.thread($0, of: account).map { NetworkItem($0) }
        }
    }

    func messages(of thread: String, _ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = BlueskyItems(page: page)
        return try await list("chat.bsky.convo.getMessages", "messages", page, account, ["convoId": thread]) {
            parser.message($0, in: thread).map { NetworkItem($0) }
        }
    }

    /// A page may be empty and have a cursor; only one without a cursor is the last.
    private func list(
        _ method: String,
        _ name: String,
        _ page: PageRequest,
        _ account: NetworkAccount,
        _ fields: [String: String] = [:],
        _ item: (JSONValue) -> NetworkItem?
    ) async throws -> NetworkPage {
        let position = try page.position(Position.self)
        var query = fields
        // A page of a user's own PDS may have a megabyte.
        query["limit"] = page.limit(50)
        query["cursor"] = position?.cursor
        let (json, budget) = try await read(method, query, account)
        guard case .array(let values)? = json[name] else {
            throw NetworkError(.transient, "the PDS's answer is no list", budget: budget)
        }
        let next = ListCursor.next(json["cursor"]?.nonEmpty, after: position?.cursor, isEmpty: values.isEmpty)
        return NetworkPage(
            values.compactMap(item),
            next: try next.map { try NetworkCursor(Position(cursor: $0)) },
            budget: budget
        )
    }
}

extension BlueskyConnector {
    func read(
        _ method: String,
        _ query: [String: String],
        _ account: NetworkAccount
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let fields = query.sorted { $0.key < $1.key }.map { FormField($0.key, $0.value) }
        let request = NetworkRequest(.get, url(method, account).adding(fields)).bearer(account.tokens.access)
        return try await calls(of: account).json(proxied(request, method))
    }

    func call(
        _ method: String,
        _ body: JSONValue,
        _ account: NetworkAccount,
        isWrite: Bool = false
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let request = try NetworkRequest.json(url(method, account), body).bearer(account.tokens.access)
        return try await calls(of: account).json(proxied(request, method), isWrite: isWrite)
    }

    func url(_ method: String, _ account: NetworkAccount) -> String { "\(pds(account))/xrpc/\(method)" }

    func pds(_ account: NetworkAccount) -> String { account.details["pds"] ?? account.instance ?? key.baseURL }

    /// Chats are on a service of their own, which the PDS passes such calls to.
    private func proxied(_ request: NetworkRequest, _ method: String) -> NetworkRequest {
        method.hasPrefix("chat.") ? request.with("atproto-proxy", "did:web:api.bsky.chat#bsky_chat") : request
    }

    /// Names of errors are the protocol's; an expired token is a 400.
    static let errorMapping = NetworkErrorMapping(
        budget: { answer, _ in
            answer.budget(
                answer.header("ratelimit-policy")?.hasPrefix("3000;") == true ? .address : .account,
                limit: "ratelimit-limit",
                remaining: "ratelimit-remaining",
                reset: "ratelimit-reset",
                as: { Double($0).map(Date.init(timeIntervalSince1970:)) }
            )
        },
        mappedError: { answer in
            guard !answer.isSuccess, let code = answer.json?["error"]?.text else { return nil }
            let said = answer.json?["message"]?.text ?? answer.json?["error_description"]?.text
            // So an app password is refused that may not do this; nothing is wrong with the session.
            let isNarrow = answer.json?["message"]?.text?.hasPrefix("Bad token ") == true
            let kind: NetworkError.Class? =
                switch code {
                case "InvalidToken" where isNarrow: .permission
                case "ExpiredToken", "InvalidToken", "AuthMissing", "AuthenticationRequired", "AuthFactorTokenRequired",
                    "invalid_grant", "invalid_token":
                    .auth
                // A proof of one request, a clock or a nonce is wrong, and not the grant; nor is it what we are known by.
                case "use_dpop_nonce", "invalid_dpop_proof": .transient
                case "invalid_client", "unauthorized_client": .permission
                case "AccountTakedown", "AccountDeactivated", "BlockedActor", "BlockedByActor", "InsufficientScope",
                    "ConvoLocked":
                    .permission
                case "RateLimitExceeded": .rateLimited(until: nil)
                case "InvalidConvo", "NotFound", "RecordNotFound", "ReplyTargetNotFound": .notFound
                case "XRPCNotSupported", "MethodNotImplemented": .unsupported
                default: nil
                }
            guard let kind else { return .status(answer, said, code: code) }
            return MappedError(kind: kind, reason: said, code: code)
        }
    )
}
