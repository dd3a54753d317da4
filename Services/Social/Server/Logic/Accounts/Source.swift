import Crypto
import Foundation
import SocialAPI
import Wire

/// An account to read from or post to, with the connector of its network.
struct Source: Sendable {
    var connector: any Connector
    var account: NetworkAccount
    /// The linked account's row; nil if the tokens came with the request, and for `roost`.
    var record: AccountRecord?

    var network: Network { connector.network }

    /// The server of the account; circuit breakers and budgets are per server.
    var host: NetworkHost { NetworkHost(network: network, instance: account.instance) }

    /// A cache key that identifies these tokens and their owner without containing the tokens.
    var key: String {
        let proof =
            record.map { "v\($0.version) \($0.linkedAt.timeIntervalSince1970)" }
            ?? Base64URL.encode(Data(SHA256.hash(data: Data(account.tokens.access.utf8))).prefix(16))
        return
            "\(network.rawValue) \(account.instance ?? "") \(proof) \(account.owner.application) \(account.owner.user)"
    }
}

/// A network, or a single server of a network with many servers.
struct NetworkHost: Hashable, Sendable {
    var network: Network
    var instance: String?
}
