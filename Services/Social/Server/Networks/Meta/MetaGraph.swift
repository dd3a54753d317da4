import Crypto
import Foundation
import HTTPTypes
import OAuth1
import SocialAPI
import Wire

/// Meta's Graph API, which Facebook and Instagram share: versions in paths, numeric errors and URLs of next pages.
struct MetaGraph: Sendable {
    let calls: NetworkCalls
    let key: ApplicationKey
    /// The base URL with the version, such as `https://graph.facebook.com/v24.0`.
    let base: String

    init(_ parts: ConnectorParts, version: String) {
        calls = NetworkCalls(parts, Self.errorMapping)
        key = parts.key
        base = "\(parts.key.baseURL)/\(parts.key.others["VERSION"] ?? version)"
    }

    func read(
        _ path: String,
        _ query: KeyValuePairs<String, String?>,
        _ token: String
    ) async throws -> (json: JSONValue, budget: Budget?) {
        try await calls.json(.get("\(base)/\(path)".adding(query).adding(proof(of: token))).bearer(token))
    }

    func write(
        _ path: String,
        _ fields: KeyValuePairs<String, String?>,
        _ token: String,
        isWrite: Bool = true
    ) async throws -> (json: JSONValue, budget: Budget?) {
        try await write(.form("\(base)/\(path)".adding(proof(of: token)), fields), token, isWrite: isWrite)
    }

    func write(
        _ request: NetworkRequest,
        _ token: String,
        isWrite: Bool = true
    ) async throws -> (json: JSONValue, budget: Budget?) {
        try await calls.json(request.bearer(token), isWrite: isWrite)
    }

    /// Returns the proof that the application itself sends the request, so that a stolen token is useless elsewhere.
    func proof(of token: String) -> [FormField] {
        guard let secret = key.secret, !secret.isEmpty else { return [] }
        return [FormField("appsecret_proof", Signatures.sha256(Data(token.utf8), key: secret))]
    }

    // MARK: Webhooks

    /// Subscribes the application to fields of an account.
    func subscribe(_ account: String, to fields: String, _ token: String) async throws {
        _ = try await write("\(account)/subscribed_apps", ["subscribed_fields": fields], token, isWrite: false)
    }

    func unsubscribe(_ account: String, _ token: String) async throws {
        let url = "\(base)/\(account)/subscribed_apps".adding(proof(of: token))
        _ = try await write(NetworkRequest(.delete, url), token, isWrite: false)
    }

    // MARK: Pages

    /// The URL of the next page, without secrets and without fields that are added to every request.
    private struct Position: Codable { var next: String }

    /// Returns a page of a list.
    ///
    /// The URL of a next page is used as it is, but only on the network's own hosts.
    func list(
        _ path: String,
        _ query: KeyValuePairs<String, String?>,
        _ fields: String?,
        _ page: PageRequest,
        _ token: String
    ) async throws -> (json: JSONValue, budget: Budget?) {
        let url: String
        if let position = try page.position(Position.self) {
            guard calls.http.mayConnect(position.next) else {
                throw NetworkError(.invalid, "the next page is not on the network's own host")
            }
            url = position.next
        } else {
            url = "\(base)/\(path)".adding(query)
        }
        let pageURL = url.adding(["fields": fields]).adding(proof(of: token))
        return try await calls.json(.get(pageURL).bearer(token))
    }

    /// Returns the cursor of the next page; an empty page may have one.
    func next(_ list: JSONValue, after page: PageRequest) throws -> NetworkCursor? {
        guard let next = list["paging"]?["next"]?.link, calls.http.mayConnect(next), let mark = next.firstIndex(of: "?")
        else { return nil }
        let query = FormField.parse(next[next.index(after: mark)...])
            .filter { !["access_token", "appsecret_proof", "fields"].contains($0.name) }
        let address = String(next[..<mark]).adding(query)
        // The size of a cursor is limited.
        guard address.utf8.count <= 900 else { throw NetworkError(.transient, "the next page's address is too long") }
        let current = try page.position(Position.self)?.next
        return try ListCursor.next(address, after: current, isEmpty: list["data"].list.isEmpty)
            .map { try NetworkCursor(Position(next: $0)) }
    }

    // MARK: Errors

    /// Usage is in percent, of which the highest counts.
    ///
    /// For businesses, the minutes until the end of a limit are included.
    static let errorMapping = NetworkErrorMapping(
        budget: { response, now in
            if let business = response.header("x-business-use-case-usage").flatMap(parsed) {
                let uses = business.fields.values.flatMap(\.list)
                if let most = uses.max(by: { share($0) < share($1) }) {
                    let minutes = most["estimated_time_to_regain_access"]?.double.flatMap { $0 > 0 ? $0 : nil }
                    return Budget(
                        scope: .account,
                        limit: 100,
                        remaining: max(0, 100 - share(most)),
                        resetAt: minutes.map { now.addingTimeInterval(min($0, 44_640) * 60) }
                    )
                }
            }
            let usage = (response.header("x-app-usage") ?? response.header("x-page-usage")).flatMap(parsed)
            return usage.map { Budget(scope: .application, limit: 100, remaining: max(0, 100 - share($0))) }
        },
        mappedError: { response in
            guard let error = response.json?["error"], error["code"] != nil || error["message"] != nil else {
                return nil
            }
            let code = error["code"]?.count ?? 0
            let subcode = error["error_subcode"]?.count ?? 0
            return MappedError(
                kind: kind(code, subcode, isTransient: error["is_transient"]?.flag ?? false, response.status),
                reason: error["error_user_msg"]?.nonEmpty ?? error["message"]?.text,
                code: subcode == 0 ? String(code) : "\(code)/\(subcode)",
                // Without a time in the response, wait for the full window of an hour.
                wait: isLimit(code) && response.budget?.resetAt == nil ? 3_600 : nil
            )
        }
    )

    private static func isLimit(_ code: Int) -> Bool {
        [4, 17, 32, 613].contains(code) || 80_000...80_014 ~= code
    }

    private static func kind(_ code: Int, _ subcode: Int, isTransient: Bool, _ status: Int) -> NetworkError.Class {
        switch (code, subcode) {
        case (_, 1_363_047), (_, 1_609_010), (_, 2_207_003), (_, 2_207_052), (_, 2_207_053): .transient
        case (_, 1_390_008), (_, 2_207_042): .rateLimited(until: nil)
        case (_, 1_346_003), (_, 1_366_046), (_, 1_366_051), (_, 1_609_008): .invalid
        case (_, 1_404_006), (_, 1_404_078), (_, 2_207_050), (_, 2_207_051): .permission
        case (_, 2_018_278): .permission
        case (1, _), (2, _): .transient
        case _ where isLimit(code): .rateLimited(until: nil)
        case (102, _), (190, _): .auth
        case (10, _), (200...299, _), (368, _): .permission
        case (100, 33), (803, _): .notFound
        case (3, _), (12, _), (2635, _): .unsupported
        case (100, _), (506, _): .invalid
        default: isTransient ? .transient : MappedError.by(status: status, isWrite: false).kind
        }
    }

    private static func parsed(_ text: String) -> JSONValue? { try? JSONParser.parse(text.utf8) }  // malformed: ignored

    private static func share(_ usage: JSONValue) -> Double {
        ["call_count", "total_time", "total_cputime"].compactMap { usage[$0]?.double }.max() ?? 0
    }
}
