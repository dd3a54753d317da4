import Crypto
import Foundation
import OAuth1
import SocialAPI
import Wire

/// The v1 API of 2015: envelopes, signed requests and `max_id`.
extension InstagramConnector {
    private struct Position: Codable { var max: String }

    func v1List(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount,
        _ item: (JSONValue) -> NetworkItem?
    ) async throws -> NetworkPage {
        let media = try await v1Media(path, page, account)
        return NetworkPage(media.values.compactMap(item), next: media.next, budget: media.budget)
    }

    /// Returns a page of media.
    ///
    /// Only the id of the next page is used, so no URL from a response is followed.
    func v1Media(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount
    ) async throws -> (values: [JSONValue], next: NetworkCursor?, budget: Budget?) {
        let max = try page.position(Position.self)?.max
        let (json, budget) = try await read(path, ["count": page.limit(100), "max_id": max], account)
        guard case .array(let values)? = json["data"] else {
            throw NetworkError(.transient, "Instagram's response is not a list", budget: budget)
        }
        let pagination = json["pagination"]
        let next =
            pagination?["next_max_id"]?.identifier
            ?? pagination?["next_url"]?.text.flatMap { LinkHeader.value("max_id", in: $0) }
        let nextMax = ListCursor.next(next, after: max, isEmpty: values.isEmpty)
        return (values, try nextMax.map { try NetworkCursor(Position(max: $0)) }, budget)
    }

    func read(
        _ path: String,
        _ query: KeyValuePairs<String, String?>,
        _ account: NetworkAccount
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let fields = signed(path, [FormField](query), account)
        return try await v1Calls.json(.get("\(key.baseURL)/v1\(path)".adding(fields)))
    }

    func write(
        _ path: String,
        _ account: NetworkAccount
    ) async throws -> (json: JSONValue, budget: Budget?) {
        try await v1Calls.json(.form("\(key.baseURL)/v1\(path)", signed(path, [], account)), isWrite: true)
    }

    /// Returns the fields with the token, and a signature over the path and all fields.
    private func signed(_ path: String, _ fields: [FormField], _ account: NetworkAccount) -> [FormField] {
        let fields = fields + [FormField("access_token", account.tokens.access)]
        guard let secret = key.secret, !secret.isEmpty else { return fields }
        return fields + [FormField("sig", Self.signature(path, fields, secret: secret))]
    }

    static func signature(_ path: String, _ fields: [FormField], secret: String) -> String {
        let text = ([path] + fields.map { "\($0.name)=\($0.value)" }.sorted()).joined(separator: "|")
        return Signatures.sha256(Data(text.utf8), key: secret)
    }

    static let v1ErrorMapping = NetworkErrorMapping(
        budget: { response, _ in
            response.budget(
                .account,
                limit: "x-ratelimit-limit",
                remaining: "x-ratelimit-remaining",
                reset: "x-ratelimit-reset",
                as: { _ in nil }
            )
        },
        mappedError: { response in
            let meta = response.json?["meta"] ?? response.json
            guard let code = meta?["error_type"]?.text else { return nil }
            let kind: NetworkError.Class? =
                switch code {
                case "OAuthAccessTokenException", "OAuthAccessTokenError": .auth
                case "OAuthPermissionsException", "APINotAllowedError": .permission
                case "OAuthRateLimitException": .rateLimited(until: nil)
                case "APINotFoundError": .notFound
                case "OAuthParameterException", "APIInvalidParametersError": .invalid
                default: nil
                }
            let message = meta?["error_message"]?.text
            // The window is an hour, and the response does not say when it ends.
            let wait = kind == .rateLimited(until: nil) ? 900.0 : nil
            return kind.map { MappedError(kind: $0, reason: message, code: code, wait: wait) }
                ?? .status(response, message, code: code)
        }
    )
}
