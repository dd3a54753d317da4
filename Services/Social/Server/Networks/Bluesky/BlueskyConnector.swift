import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// The connector of Bluesky and any other PDS of the AT Protocol.
///
/// An account's tokens are those of a session, or those that its server granted to this application (OAuth). A session
/// has an access token for two hours and a refresh token for a single use. Calls go to the account's own PDS. It
/// forwards them to the AppView, or to the chat service if a header says so.
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

    /// Returns a page.
    ///
    /// An empty page may have a cursor; only a page without a cursor is the last.
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
        // A page from a user's own PDS may have at most a megabyte.
        query["limit"] = page.limit(50)
        query["cursor"] = position?.cursor
        let (json, budget) = try await read(method, query, account)
        guard case .array(let values)? = json[name] else {
            throw NetworkError(.transient, "the PDS's response is not a list", budget: budget)
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

    /// Chat methods belong to a separate service; the header makes the PDS forward the call.
    private func proxied(_ request: NetworkRequest, _ method: String) -> NetworkRequest {
        method.hasPrefix("chat.") ? request.with("atproto-proxy", "did:web:api.bsky.chat#bsky_chat") : request
    }

    /// The names of errors come from the protocol; an expired token has status 400.
    static let errorMapping = NetworkErrorMapping(
        budget: { response, _ in
            response.budget(
                response.header("ratelimit-policy")?.hasPrefix("3000;") == true ? .address : .account,
                limit: "ratelimit-limit",
                remaining: "ratelimit-remaining",
                reset: "ratelimit-reset",
                as: { Double($0).map(Date.init(timeIntervalSince1970:)) }
            )
        },
        mappedError: { response in
            guard !response.isSuccess, let code = response.json?["error"]?.text else { return nil }
            let message = response.json?["message"]?.text ?? response.json?["error_description"]?.text
            // The PDS rejects an app password without the required access in this way; the session itself is valid.
            let isNarrow = response.json?["message"]?.text?.hasPrefix("Bad token ") == true
            let kind: NetworkError.Class? =
                switch code {
                case "InvalidToken" where isNarrow: .permission
                case "ExpiredToken", "InvalidToken", "AuthMissing", "AuthenticationRequired", "AuthFactorTokenRequired",
                    "invalid_grant", "invalid_token":
                    .auth
                // The proof, the clock or the nonce of one request is wrong, or the client's registration, but not the
                // grant.
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
            guard let kind else { return .status(response, message, code: code) }
            return MappedError(kind: kind, reason: message, code: code)
        }
    )
}
