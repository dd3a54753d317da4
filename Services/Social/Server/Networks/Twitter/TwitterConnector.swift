import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// Twitter's API 1.1 and X's API 2: which of them is asked is the account's tokens' matter.
///
/// A token with a secret is of OAuth 1.0a and speaks 1.1, unless the setting `TWITTER_API` is 2, where it signs for 2 as
/// well. One without a secret is of OAuth 2.0, which 1.1 does not take.
struct TwitterConnector: Connector {
    let network = Network.twitter
    let key: ApplicationKey
    let calls: NetworkCalls
    let pause: Pause
    private let nonce: @Sendable () -> String

    static let defaultURL = "https://api.twitter.com"

    init(
        _ parts: ConnectorParts,
        pause: @escaping Pause = { try await Task.sleep(for: $0) },
        nonce: @escaping @Sendable () -> String = { OAuth1Signer.randomNonce() }
    ) {
        key = parts.key
        calls = NetworkCalls(parts, Self.errorMapping)
        self.pause = pause
        self.nonce = nonce
    }

    /// Whether the account uses API v2: tokens of OAuth 1.0a (with a secret) use 1.1 unless `TWITTER_API` is 2.
    ///
    /// Without an account, the answer is the version that `TWITTER_API` links accounts with.
    func isV2(_ account: NetworkAccount) -> Bool {
        if key.others["API"] == "2" { return true }
        return account.tokens.access.isEmpty ? key.others["API"] != "1.1" : account.tokens.secret == nil
    }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        if isV2(account) {
            let (json, _) = try await send(
                .get("\(key.baseURL)/2/users/me".adding(["user.fields": "profile_image_url"])),
                account
            )
            guard let id = json["data"]?["id"]?.identifier else {
                throw NetworkError(.transient, "the network does not say who it is")
            }
            return NetworkIdentity(
                id: id,
                username: json["data"]?["username"]?.text,
                name: json["data"]?["name"]?.text,
                avatarUrl: json["data"]?["profile_image_url"]?.link
            )
        }
        let (json, _) = try await send(.get("\(key.baseURL)/1.1/account/verify_credentials.json"), account)
        guard let id = json["id_str"]?.identifier else {
            throw NetworkError(.transient, "the network does not say who it is")
        }
        return NetworkIdentity(
            id: id,
            username: json["screen_name"]?.text,
            name: json["name"]?.text,
            avatarUrl: json["profile_image_url_https"]?.link
        )
    }

    /// The API's paths take the numeric id; a client may know the account by its user name.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.hasNumericID }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isV2(account) else { return try await timeline("statuses/home_timeline", page, account, .post) }
        let path = "/2/users/\(try me(account))/timelines/reverse_chronological"
        return try await posts(path, page, account, .post)
    }

    /// There is no list of what happened: who mentions one is as much as can be asked for.
    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isV2(account) else {
            return try await timeline("statuses/mentions_timeline", page, account, .mention)
        }
        return try await posts("/2/users/\(try me(account))/mentions", page, account, .mention)
    }

    func me(_ account: NetworkAccount) throws -> String {
        guard let id = account.id, !id.isEmpty else { throw NetworkError(.invalid, "the account's id is not known") }
        return id.pathSegment
    }
}

extension TwitterConnector {
    /// The JSON of a request that is signed, or bears the token.
    func send(
        _ request: NetworkRequest,
        _ account: NetworkAccount,
        form: [FormField] = [],
        isWrite: Bool = false
    ) async throws -> (json: JSONValue, budget: Budget?) {
        try await calls.json(try signed(request, account, form: form), isWrite: isWrite)
    }

    func send(
        form url: String,
        _ fields: KeyValuePairs<String, String?>,
        _ account: NetworkAccount,
        isWrite: Bool = false
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let fields = [FormField](fields)
        return try await send(.form(url, fields), account, form: fields, isWrite: isWrite)
    }

    /// Of a body only a form is signed.
    func signed(_ request: NetworkRequest, _ account: NetworkAccount, form: [FormField] = []) throws -> NetworkRequest {
        guard let secret = account.tokens.secret else { return request.bearer(account.tokens.access) }
        return try signed(request, OAuth1Credentials(key: account.tokens.access, secret: secret), form: form)
    }

    func signed(
        _ request: NetworkRequest,
        _ token: OAuth1Credentials?,
        form: [FormField] = [],
        adding fields: [FormField] = []
    ) throws -> NetworkRequest {
        let (id, secret) = try key.registered()
        let signer = OAuth1Signer(client: OAuth1Credentials(key: id, secret: secret), token: token)
        let header = signer.authorization(
            request.method.rawValue,
            request.url,
            form: form,
            adding: fields,
            nonce: nonce(),
            time: calls.now()
        )
        guard let header else { throw NetworkError(.invalid, "the network's address is none") }
        var request = request
        request.headers[.authorization] = header
        return request
    }

    static let errorMapping = NetworkErrorMapping(
        budget: { answer, _ in
            answer.budget(
                .account,
                limit: "x-rate-limit-limit",
                remaining: "x-rate-limit-remaining",
                reset: "x-rate-limit-reset",
                as: { Double($0).map(Date.init(timeIntervalSince1970:)) }
            )
        },
        mappedError: { answer in
            guard !answer.isSuccess else { return nil }
            if let error = (answer.json?["errors"]).list.first, let code = error["code"]?.count {
                return first(code, error["message"]?.text, answer)
            }
            if let code = answer.json?["error"]?.text {
                return .granting(code, answer.json?["error_description"]?.text)
            }
            return second(answer)
        }
    )

    /// The numbers of 1.1.
    private static func first(_ code: Int, _ reason: String?, _ answer: ParsedResponse) -> MappedError? {
        let kind: NetworkError.Class? =
            switch code {
            // A clock that is off (135) says nothing of the token.
            case 32, 89, 99, 215: .auth
            case 64, 63, 87, 93, 150, 179, 220, 226, 261, 326, 349: .permission
            case 34, 50, 17, 144, 385: .notFound
            case 88, 185: .rateLimited(until: nil)
            case 130, 131, 135: .transient
            case 186, 187, 324, 354: .invalid
            default: nil
            }
        guard let kind else { return .status(answer, reason, code: String(code)) }
        return MappedError(kind: kind, reason: reason, code: String(code))
    }

    /// The problems of 2; what an application's plan does not have is lacking, whatever the token.
    private static func second(_ answer: ParsedResponse) -> MappedError? {
        let problem = answer.json?["type"]?.text?.split(separator: "/").last.map(String.init)
        let enrolled = answer.json?["reason"]?.text
        let said = answer.json?["detail"]?.text ?? answer.json?["title"]?.text
        switch (problem, enrolled) {
        case (_, "client-not-enrolled"?), (_, "official-client-forbidden"?), ("client-forbidden"?, _),
            ("client-not-enrolled"?, _):
            return MappedError(kind: .unsupported, reason: said, code: enrolled ?? problem)
        // Until the month ends, whatever the window's header says.
        case ("usage-capped"?, _):
            return MappedError(kind: .rateLimited(until: nil), reason: said, code: problem, wait: 86_400)
        case ("not-authorized-for-resource"?, _): return MappedError(kind: .permission, reason: said, code: problem)
        case ("resource-not-found"?, _): return MappedError(kind: .notFound, reason: said, code: problem)
        default: return .status(answer, said, code: problem == "about:blank" || problem == "blank" ? nil : problem)
        }
    }
}
