import Foundation
import SocialAPI
import Wire

/// An account on a network, as a connector uses it.
struct NetworkAccount: Hashable, Sendable {
    /// The user who owns the account; the connector of `roost` needs nothing else.
    var owner: User.ID
    /// The account's native id; nil if the client sent none and the network has not identified the account yet.
    var id: String?
    /// The user name without `@`.
    var username: String?
    /// The URL of the account's avatar, if the network provides it with the identity.
    var avatarUrl: String?
    var tokens: NetworkTokens
    /// The account's server as `https://mastodon.example`, without a slash at the end; nil on networks with one server.
    ///
    /// Users name it, so it must only be reached through a `NetworkHTTP` for user-supplied hosts.
    var instance: String?
    /// Values that the connector stores with the account (a page's id, the granted scopes); never a secret.
    var details: [String: String] = [:]

    /// Whether the id consists of digits, as the native ids of some networks do.
    var hasNumericID: Bool { id?.isEmpty == false && id?.utf8.allSatisfy { (0x30...0x39).contains($0) } == true }
}

/// The credentials for an account at its network; stored encrypted, and never printed.
struct NetworkTokens: Codable, Hashable, Sendable {
    var access: String
    /// The token secret of OAuth 1.0a.
    var secret: String?
    var refresh: String?
    /// The expiry of `access`; nil if it does not expire or the network does not say.
    var expiresAt: Date?
    /// Further secrets that a connector needs (a page's token, an instance's client secret).
    var others: [String: String]?
}

extension NetworkTokens: CustomStringConvertible, CustomReflectable {
    var description: String { "NetworkTokens(hidden)" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The identity of an account according to its network.
struct NetworkIdentity: Hashable, Sendable {
    var id: String
    var username: String?
    var name: String?
    var avatarUrl: String?
    /// Values to store with the account; see `NetworkAccount.details`.
    var details: [String: String] = [:]
    /// Tokens that replace those of the request, if the network has returned better ones (long-lived, a page's own).
    var tokens: NetworkTokens?
    /// Other ids and names of the account: a person's id beside the page's, blogs, an e-mail address.
    var aliases: [String] = []

    /// The aliases that can be the id of an item's author; names and e-mail addresses are none.
    var authorIDs: [String] {
        let ids = aliases.filter { ![id, username].contains($0) && !$0.contains("@") && $0.utf8.count <= 200 }
        return Array(ids.prefix(100))
    }

    /// Returns whether an id or name that a client sends belongs to this account.
    ///
    /// Names are compared case-insensitively, as on all networks here, and may start with `@`.
    func matches(_ provided: String) -> Bool {
        guard provided != id else { return true }
        let name = provided.drop { $0 == "@" }.lowercased()
        return !name.isEmpty && ([id, username].compactMap(\.self) + aliases).contains { $0.lowercased() == name }
    }
}
