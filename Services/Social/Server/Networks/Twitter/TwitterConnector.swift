import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// The connector of Twitter's API 1.1 and X's API 2; the account's tokens decide which one is used.
///
/// A token with a secret is of OAuth 1.0a and uses API 1.1, or API 2 if `TWITTER_API` is 2. A token without a secret is
/// of OAuth 2.0, which only API 2 accepts.
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

    /// Returns whether the account uses API 2: tokens of OAuth 1.0a (with a secret) use 1.1 unless `TWITTER_API` is 2.
    ///
    /// Without tokens, it is the version with which `TWITTER_API` links accounts.
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
                throw NetworkError(.transient, "the network did not identify the account")
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
            throw NetworkError(.transient, "the network did not identify the account")
        }
        return NetworkIdentity(
            id: id,
            username: json["screen_name"]?.text,
            name: json["name"]?.text,
            avatarUrl: json["profile_image_url_https"]?.link
        )
    }

    /// The API's paths require the numeric id, but a client may know the account by its user name.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.hasNumericID }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isV2(account) else { return try await timeline("statuses/home_timeline", page, account, .post) }
        let path = "/2/users/\(try me(account))/timelines/reverse_chronological"
        return try await posts(path, page, account, .post)
    }

    /// Returns the mentions, because the API has no list of notifications.
    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        guard isV2(account) else {
            return try await timeline("statuses/mentions_timeline", page, account, .mention)
        }
        return try await posts("/2/users/\(try me(account))/mentions", page, account, .mention)
    }

    func me(_ account: NetworkAccount) throws -> String {
        guard let id = account.id, !id.isEmpty else { throw NetworkError(.invalid, "the account's id is unknown") }
        return id.pathSegment
    }
}

extension TwitterConnector {
    /// Sends a request that is signed or has the bearer token; returns the JSON of the response.
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

    /// Returns the request with its signature or bearer token; a body is only signed if it is a form.
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
        guard let header else { throw NetworkError(.invalid, "the network's URL is not valid") }
        var request = request
        request.headers[.authorization] = header
        return request
    }

    static let errorMapping = NetworkErrorMapping(
        budget: { response, _ in
            response.budget(
                .account,
                limit: "x-rate-limit-limit",
                remaining: "x-rate-limit-remaining",
                reset: "x-rate-limit-reset",
                as: { Double($0).map(Date.init(timeIntervalSince1970:)) }
            )
        },
        mappedError: { response in
            guard !response.isSuccess else { return nil }
            if let error = (response.json?["errors"]).list.first, let code = error["code"]?.count {
                return v1Error(code, error["message"]?.text, response)
            }
            if let code = response.json?["error"]?.text {
                return .tokenEndpoint(code, response.json?["error_description"]?.text)
            }
            return v2Error(response)
        }
    )

    private static func v1Error(_ code: Int, _ reason: String?, _ response: ParsedResponse) -> MappedError? {
        let kind: NetworkError.Class? =
            switch code {
            // A wrong clock (135) does not mean that the token is invalid.
            case 32, 89, 99, 215: .auth
            case 64, 63, 87, 93, 150, 179, 220, 226, 261, 326, 349: .permission
            case 34, 50, 17, 144, 385: .notFound
            case 88, 185: .rateLimited(until: nil)
            case 130, 131, 135: .transient
            case 186, 187, 324, 354: .invalid
            default: nil
            }
        guard let kind else { return .status(response, reason, code: String(code)) }
        return MappedError(kind: kind, reason: reason, code: String(code))
    }

    /// Returns the error for a problem of API 2.
    ///
    /// A feature that the application's plan lacks is unsupported.
    private static func v2Error(_ response: ParsedResponse) -> MappedError? {
        let problem = response.json?["type"]?.text?.split(separator: "/").last.map(String.init)
        let enrolled = response.json?["reason"]?.text
        let message = response.json?["detail"]?.text ?? response.json?["title"]?.text
        switch (problem, enrolled) {
        case (_, "client-not-enrolled"?), (_, "official-client-forbidden"?), ("client-forbidden"?, _),
            ("client-not-enrolled"?, _):
            return MappedError(kind: .unsupported, reason: message, code: enrolled ?? problem)
        // The cap lasts until the end of the month, whatever the header says.
        case ("usage-capped"?, _):
            return MappedError(kind: .rateLimited(until: nil), reason: message, code: problem, wait: 86_400)
        case ("not-authorized-for-resource"?, _): return MappedError(kind: .permission, reason: message, code: problem)
        case ("resource-not-found"?, _): return MappedError(kind: .notFound, reason: message, code: problem)
        default: return .status(response, message, code: problem == "about:blank" || problem == "blank" ? nil : problem)
        }
    }
}
