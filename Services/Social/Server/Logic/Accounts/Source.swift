import Crypto
import Foundation
import SocialAPI
import Wire

/// An account that something is asked of, with who asks its network.
struct Source: Sendable {
    var connector: any Connector
    var account: NetworkAccount
    /// What it is kept as; nil where the tokens came with the request, and for the suite itself.
    var record: AccountRecord?

    var network: Network { connector.network }

    /// The part of the network that it lives in; circuits and budgets are kept for each.
    var host: NetworkHost { NetworkHost(network: network, instance: account.instance) }

    /// What tells these tokens' account from all others, without saying them.
    var key: String {
        let proof =
            record.map { "v\($0.version) \($0.linkedAt.timeIntervalSince1970)" }
            ?? Base64URL.encode(Data(SHA256.hash(data: Data(account.tokens.access.utf8))).prefix(16))
        return
            "\(network.rawValue) \(account.instance ?? "") \(proof) \(account.owner.application) \(account.owner.user)"
    }
}

/// A network, or one of its many places.
struct NetworkHost: Hashable, Sendable {
    var network: Network
    var instance: String?
}
