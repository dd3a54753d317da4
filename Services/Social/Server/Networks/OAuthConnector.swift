import Foundation
import SocialAPI
import Wire

/// A network that people can be sent to, to agree to being linked.
protocol OAuthConnector: Connector {
    /// Where somebody is sent, and what has to be remembered until he is back.
    ///
    /// Networks of many places register the application with the instance here, if need be.
    func authorize(_ request: AuthorizationRequest) async throws -> Authorization

    /// Makes tokens of what the network sent him back with.
    ///
    /// - Parameters:
    ///   - query: the callback's parameters, percent-decoded; `state` was checked already.
    ///   - authorization: what `authorize` gave.
    ///   - request: what it was given.
    /// - Returns: tokens, and of the account what the network said of it; `identify` is asked next.
    /// - Throws: `permission` where he did not agree; else as all calls.
    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount

    /// What this deployment says of itself to networks that ask it; nil where none does.
    func clientMetadata(callback: String) throws -> JSONValue?
}

extension OAuthConnector {
    func clientMetadata(callback: String) throws -> JSONValue? { nil }
}

/// What somebody is sent to a network with.
struct AuthorizationRequest: Codable, Hashable, Sendable {
    /// Our own address that the network sends him back to; OAuth 1.0a has the state in its query.
    var callback: String
    /// Unguessable, and checked when he is back.
    var state: String
    /// Of PKCE (RFC 7636), 43 characters; the challenge is its SHA-256 in base64url (`S256`).
    var verifier: String
    /// Of networks of many places: where his account lives, as `https://mastodon.example`.
    var instance: String?
    /// What his account is called there, where a network finds it by that alone.
    var id: String?
}

/// A way to a network's consent page.
struct Authorization: Codable, Hashable, Sendable {
    /// The page.
    var url: String
    /// Secrets until he is back, kept encrypted: the request token's, those of a client registered just now.
    var payload: [String: String] = [:]
}

/// What an authorization came to.
struct AuthorizedAccount: Hashable, Sendable {
    var tokens: NetworkTokens
    var id: String?
    var username: String?
    var details: [String: String] = [:]
}
