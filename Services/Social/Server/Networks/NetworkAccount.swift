import Foundation
import SocialAPI
import Wire

/// Somebody's account on a network, as a connector acts for it.
struct NetworkAccount: Hashable, Sendable {
    /// Whose it is; the only account that the connector of `roost` needs.
    var owner: User.ID
    /// The account's native id; nil where the client gave none and the network was not asked yet.
    var id: String?
    /// Without an @ before it.
    var username: String?
    /// The address of the account's picture, where the network gives it with the identity.
    var avatarUrl: String?
    var tokens: NetworkTokens
    /// Where the account lives, as `https://mastodon.example` without a slash at the end; nil on networks of one place.
    ///
    /// It is given by a user: reach it through the `NetworkHTTP` for given hosts alone.
    var instance: String?
    /// What the connector wants to remember of it (a page's id, the scopes granted); never a secret.
    var details: [String: String] = [:]

    /// Whether the id consists of digits, as the native ids of some networks do.
    var hasNumericID: Bool { id?.isEmpty == false && id?.utf8.allSatisfy { (0x30...0x39).contains($0) } == true }
}

/// What a network takes as a proof that its account agreed; kept encrypted, and never printed.
struct NetworkTokens: Codable, Hashable, Sendable {
    var access: String
    /// The token secret of OAuth 1.0a.
    var secret: String?
    var refresh: String?
    /// When `access` ends; nil where it lasts, or nobody said.
    var expiresAt: Date?
    /// Secrets beside them that a connector needs (a page's token, an instance's client secret).
    var others: [String: String]?
}

extension NetworkTokens: CustomStringConvertible, CustomReflectable {
    var description: String { "NetworkTokens(hidden)" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Who the network says an account is.
struct NetworkIdentity: Hashable, Sendable {
    var id: String
    var username: String?
    var name: String?
    var avatarUrl: String?
    /// What is to be remembered of the account; see `NetworkAccount.details`.
    var details: [String: String] = [:]
    /// Tokens in the place of those asked with, where the network gave better ones (long-lived, a page's own).
    var tokens: NetworkTokens?
    /// Other ids and names by which the network knows the account: a person's id beside the page's, blogs, an e-mail address.
    var aliases: [String] = []

    /// Whether an id or name that a client gives is one of this account's.
    ///
    /// Names are compared without regard to case, as all networks here do, and may begin with "@".
    func matches(_ provided: String) -> Bool {
        guard provided != id else { return true }
        let name = provided.drop { $0 == "@" }.lowercased()
        return !name.isEmpty && ([id, username].compactMap(\.self) + aliases).contains { $0.lowercased() == name }
    }
}
