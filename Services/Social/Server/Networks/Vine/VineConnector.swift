import Foundation
import HTTPTypes
import SocialAPI
import Wire

/// The connector of Vine, which ended in 2017: its API as its clients used it, for servers that reimplement it.
///
/// The access token is a session key, `{userId}-{uuid}`. If `id` is an e-mail address, the token is a password. The
/// connector then creates a session and does not store the password.
struct VineConnector: Connector {
    let network = Network.vine
    let key: ApplicationKey
    let calls: NetworkCalls

    static let defaultURL = "https://api.vineapp.com"

    init(_ parts: ConnectorParts) {
        key = parts.key
        calls = NetworkCalls(parts, Self.errorMapping)
    }

    /// The anchor fixes the state of the list, so that new posts do not shift its pages.
    private struct Position: Codable {
        var page: Int
        var anchor: String
    }

    func identify(_ account: NetworkAccount) async throws -> NetworkIdentity {
        if let email = account.id, email.contains("@") {
            let form: KeyValuePairs<String, String?> = [
                "username": email, "password": account.tokens.access,
                "deviceToken": String(repeating: "0", count: 64),
            ]
            let (json, _) = try await calls.json(Self.named(.form("\(key.baseURL)/users/authenticate", form)))
            guard let data = json["data"], let id = data["userId"]?.identifier, let session = data["key"]?.nonEmpty
            else {
                throw NetworkError(.transient, "Vine did not create a session")
            }
            return NetworkIdentity(
                id: id,
                username: data["username"]?.text,
                tokens: NetworkTokens(access: session),
                aliases: [email]
            )
        }
        let (json, _) = try await read("/users/me", account)
        guard let id = json["data"]?["userId"]?.identifier else {
            throw NetworkError(.transient, "Vine did not identify the account")
        }
        return NetworkIdentity(
            id: id,
            username: json["data"]?["username"]?.text,
            avatarUrl: json["data"]?["avatarUrl"]?.link
        )
    }

    /// Returns true for a numeric id, which the API's paths require; beside an e-mail address the token is a password.
    func acceptsProvidedID(_ account: NetworkAccount) -> Bool { account.hasNumericID }

    func revoke(_ account: NetworkAccount) async throws {
        _ = try await calls.send(signed(NetworkRequest(.delete, "\(key.baseURL)/users/authenticate"), account))
    }

    func feed(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = VineItems(page: page)
        return try await list("/timelines/graph", page, account) { parser.post($0) }
    }

    func notifications(_ page: PageRequest, as account: NetworkAccount) async throws -> NetworkPage {
        let parser = VineItems(page: page)
        return try await list("/users/\(try me(account))/notifications", page, account) {
            parser.notification($0).map { NetworkItem($0) }
        }
    }

    private func list(
        _ path: String,
        _ page: PageRequest,
        _ account: NetworkAccount,
        _ item: (JSONValue) -> NetworkItem?
    ) async throws -> NetworkPage {
        let position = try page.position(Position.self)
        let query: KeyValuePairs = [
            "page": position.map { String($0.page) }, "anchor": position?.anchor, "size": page.limit(50),
        ]
        let (json, budget) = try await read(path.adding(query), account)
        guard let data = json["data"], case .array(let records)? = data["records"] else {
            throw NetworkError(.transient, "Vine's response is not a list", budget: budget)
        }
        let anchor = data["anchorStr"]?.identifier ?? data["anchor"]?.identifier ?? position?.anchor
        // An empty page may lead to itself, but no page leads back.
        let least = (position?.page ?? 1) + (records.isEmpty ? 0 : 1)
        let number = data["nextPage"]?.count.flatMap { $0 >= least ? $0 : nil }
        return NetworkPage(
            records.compactMap(item),
            next: try number.map { try NetworkCursor(Position(page: $0, anchor: anchor ?? "")) },
            budget: budget
        )
    }

    func me(_ account: NetworkAccount) throws -> String {
        // A session key starts with the user's id.
        let id = account.id ?? account.tokens.access.split(separator: "-").first.map(String.init)
        guard let id, !id.isEmpty else { throw NetworkError(.invalid, "the account's id is unknown") }
        return id.pathSegment
    }
}

extension VineConnector {
    func read(_ path: String, _ account: NetworkAccount) async throws -> (json: JSONValue, budget: Budget?) {
        try await calls.json(signed(.get(key.baseURL + path), account))
    }

    func signed(_ request: NetworkRequest, _ account: NetworkAccount) -> NetworkRequest {
        Self.named(request).with("vine-session-id", account.tokens.access)
    }

    /// Adds the headers of Vine's own client, which Vine requires.
    static func named(_ request: NetworkRequest) -> NetworkRequest {
        request.with("User-Agent", "iphone/172 (iPad; iOS 7.0.4; Scale/2.00)").with("X-Vine-Client", "ios/2.5.1")
            .with("Accept-Language", "en;q=1")
    }

    /// Vine never published its limits; it responds with 420 when they are exceeded.
    static let errorMapping = NetworkErrorMapping(
        mappedError: { response in
            guard let json = response.json else {
                return response.status == 420 ? MappedError(kind: .rateLimited(until: nil), wait: 60) : nil
            }
            guard !response.isSuccess || json["success"]?.flag == false else { return nil }
            let code = json["code"]?.identifier
            let kind: NetworkError.Class? =
                switch (code, response.status) {
                case (_, 420): .rateLimited(until: nil)
                case ("101", _), ("103", _): .auth
                case ("900", _): .notFound
                case ("4", _): .permission
                default: nil
                }
            let message = json["error"]?.nonEmpty
            if let kind {
                return MappedError(kind: kind, reason: message, code: code, wait: response.status == 420 ? 60 : nil)
            }
            return response.isSuccess
                ? MappedError(kind: .invalid, reason: message, code: code) : .status(response, message, code: code)
        }
    )
}
