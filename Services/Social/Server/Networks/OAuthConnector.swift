import Foundation
import SocialAPI
import Wire

/// A network with a consent page for users who link their account.
protocol OAuthConnector: Connector {
    /// Starts an authorization; returns the consent page, and secrets to keep until the redirect.
    ///
    /// On networks with many servers, this may register the application with the account's server.
    func authorize(_ request: AuthorizationRequest) async throws -> Authorization

    /// Exchanges the parameters of the network's redirect for tokens.
    ///
    /// - Parameters:
    ///   - query: The parameters, percent-decoded; the caller has checked `state`.
    ///   - authorization: The result of `authorize`.
    ///   - request: The parameter of `authorize`.
    /// - Returns: The tokens, and the account as far as the response identifies it; the caller calls `identify` next.
    /// - Throws: `permission` if the user did not agree; otherwise the errors of all calls.
    func complete(
        _ query: [String: String],
        of authorization: Authorization,
        for request: AuthorizationRequest
    ) async throws -> AuthorizedAccount

    /// Returns the metadata document by which networks identify this deployment; nil if the network reads none.
    func clientMetadata(callback: String) throws -> JSONValue?
}

extension OAuthConnector {
    func clientMetadata(callback: String) throws -> JSONValue? { nil }
}

/// The parameters of an authorization.
struct AuthorizationRequest: Codable, Hashable, Sendable {
    /// The URL here to which the network redirects the user, without a query.
    var callback: String
    /// A random value, which is checked in the redirect.
    var state: String
    /// The PKCE verifier (RFC 7636) of 43 characters; the challenge is its SHA-256 in base64url (`S256`).
    var verifier: String
    /// The account's server as `https://mastodon.example`, on networks with many servers.
    var instance: String?
    /// The account's name on the network, if the network finds the account's server by it.
    var id: String?

    /// The callback with the state in its query, for OAuth 1.0a: that protocol has no `state` parameter (RFC 5849), and a
    /// network adds `oauth_token` and `oauth_verifier` to the query of `oauth_callback`.
    var callbackWithState: String { callback.adding(["state": state]) }
}

/// A started authorization.
struct Authorization: Codable, Hashable, Sendable {
    var url: String
    /// Secrets that are stored encrypted until the redirect: those of a request token or of a newly registered client.
    var payload: [String: String] = [:]
}

/// The result of an authorization.
struct AuthorizedAccount: Hashable, Sendable {
    var tokens: NetworkTokens
    var id: String?
    var username: String?
    var details: [String: String] = [:]
}
