import Credentials
import Crypto
import Foundation
import Postgres
import ServiceHost
import SocialAPI
import Wire

/// Links accounts through the networks' consent pages (OAuth).
///
/// The network's redirect is stored until the session that started the flow sends a one-time code. A user who opens
/// another user's consent link and agrees therefore links nothing to that other user.
struct Authorizations: Sendable {
    /// The time that a user has to agree on the network's page, in seconds.
    private static let lifetime: TimeInterval = 600
    /// The maximum number of pending authorizations of a user.
    private static let maximum = 20

    /// The stored state of a pending authorization; `query` is set by the network's redirect.
    private struct PendingAuthorization: Codable {
        var request: AuthorizationRequest
        var authorization: Authorization
        var query: [String: String]?
    }

    let database: PostgresPool
    let tokenCipher: TokenCipher
    let linking: Linking
    /// `SOCIAL_REDIRECT_URLS`: the URLs to which users may be redirected.
    let redirectURLs: [String]
    let publicURL: String
    let now: @Sendable () -> Date

    /// Starts an authorization; returns the network's consent page.
    func begin(
        _ draft: AuthorizationDraft,
        on network: Network,
        by identity: Identity
    ) async throws -> AuthorizationPage {
        guard redirectURLs.contains(draft.redirectUrl) else {
            throw APIError.invalid(
                "redirectUrl",
                "\"redirectUrl\" is not listed in SOCIAL_REDIRECT_URLS",
                code: "unregistered_url"
            )
        }
        let connector = try oauthConnector(network)
        let store = AuthorizationStore(db: database)
        guard try await store.count(of: identity.user, now: now()) < Self.maximum else {
            throw APIError(.rateLimited, "too_many_authorizations", "finish those under way first", retryAfter: 600)
        }
        let state = Self.random()
        let request = AuthorizationRequest(
            callback: callback(of: network),
            state: state,
            verifier: Self.random(),
            instance: try linking.rules.instance(draft.instance, on: network, field: "instance"),
            id: try linking.rules.id(draft.id, field: "id")
        )
        let authorization: Authorization
        do {
            authorization = try await within(.seconds(10)) { try await connector.authorize(request) }
        } catch {
            throw Linking.apiError(NetworkError(error, isWrite: false), of: network)
        }
        let hash = Self.hash(state)
        let payload = PendingAuthorization(request: request, authorization: authorization)
        try await store.insert(
            AuthorizationRecord(
                stateHash: hash,
                user: identity.user,
                session: identity.session,
                network: network,
                redirectURL: draft.redirectUrl,
                payload: try tokenCipher.seal(payload, of: identity.user, state: hash),
                endsAt: now().addingTimeInterval(Self.lifetime)
            )
        )
        return AuthorizationPage(url: authorization.url)
    }

    /// Handles the network's redirect; returns the URL to redirect to, with a one-time code or an error.
    func handleCallback(from network: Network, with query: [String: String]) async throws -> String {
        let store = AuthorizationStore(db: database)
        guard let state = query["state"], case let hash = Self.hash(state),
            let record = try await store.waiting(hash, on: network, now: now())
        else { throw APIError.invalid("state", "\"state\" is unknown or has expired", code: "unknown_state") }
        guard query["error"] == nil, query["denied"] == nil else {
            return Self.adding(["error": "access_denied", "network": network.rawValue], to: record.redirectURL)
        }
        var payload: PendingAuthorization = try tokenCipher.open(record.payload, of: record.user, state: hash)
        payload.query = query
        let code = Self.random()
        let sealed = try tokenCipher.seal(payload, of: record.user, state: hash)
        guard try await store.save(sealed, codeHash: Self.hash(code), of: hash) else {
            throw APIError.invalid("state", "\"state\" is unknown or has expired", code: "unknown_state")
        }
        return Self.adding(["code": code, "network": network.rawValue], to: record.redirectURL)
    }

    /// Links the account of a one-time code, which only the session that started the authorization can use, and once.
    func complete(_ code: String, on network: Network, by identity: Identity) async throws -> NetworkStatus {
        let connector = try oauthConnector(network)
        let record = try await AuthorizationStore(db: database).redeem(
            codeHash: Self.hash(code),
            of: identity.user,
            session: identity.session,
            on: network,
            now: now()
        )
        guard let record else {
            throw APIError.invalid("code", "the code is unknown or has expired", code: "invalid_code")
        }
        let payload: PendingAuthorization = try tokenCipher.open(
            record.payload,
            of: record.user,
            state: record.stateHash
        )
        let account: AuthorizedAccount
        do {
            account = try await within(.seconds(10)) {
                try await connector.complete(payload.query ?? [:], of: payload.authorization, for: payload.request)
            }
        } catch {
            throw Linking.apiError(NetworkError(error, isWrite: false), of: network)
        }
        return try await linking.save(
            NetworkAccount(
                owner: identity.user,
                id: account.id,
                username: account.username,
                tokens: account.tokens,
                instance: payload.request.instance,
                details: account.details
            ),
            by: connector
        )
    }

    /// Returns the client metadata document of this deployment for a network.
    ///
    /// - Throws: `client_metadata_not_found` if the network does not read such a document.
    func document(of network: Network) throws -> JSONValue {
        let connector = linking.connectors[network] as? any OAuthConnector
        do {
            if let document = try connector?.clientMetadata(callback: callback(of: network)) { return document }
        } catch is NetworkError {
            // No server can read the document of this deployment, so the error below is correct.
        }
        throw APIError(
            .notFound,
            "client_metadata_not_found",
            "\(network.rawValue) does not use a client metadata document"
        )
    }

    private func callback(of network: Network) -> String { "\(publicURL)/networks/\(network.rawValue)/callback" }

    func sweep() async throws {
        try await AuthorizationStore(db: database).delete(endedBefore: now())
    }

    private func oauthConnector(_ network: Network) throws -> any OAuthConnector {
        guard let connector = try linking.linkable(network) as? any OAuthConnector else {
            throw APIError(
                .unprocessable,
                "authorization_not_supported",
                "\(network.rawValue) has no consent page here; link it with tokens"
            )
        }
        return connector
    }

    /// Returns 256 random bits as 43 characters.
    private static func random() -> String {
        Base64URL.encode(SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) })
    }

    private static func hash(_ text: String) -> Data { Data(SHA256.hash(data: Data(text.utf8))) }

    private static func adding(_ parameters: KeyValuePairs<String, String>, to url: String) -> String {
        let query = parameters.map { "\($0)=\($1)" }.joined(separator: "&")
        return url + (url.contains("?") ? "&" : "?") + query
    }
}
