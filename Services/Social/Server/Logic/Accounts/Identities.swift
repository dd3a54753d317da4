import Locks
import SocialAPI

/// Who accounts are whose tokens came with a request and nothing else; asked once, and known for a while.
final class Identities: Sendable {
    private let known = Lock<[String: NetworkIdentity]>([:])
    private let capacity = 10_000

    /// Fills in what is missing of an account.
    func complete(_ source: inout Source, _ asking: Asking, within limit: Duration) async throws {
        guard source.account.id == nil else { return }
        let key = source.key
        if let identity = known.withLock({ $0[key] }) { return source.account.take(identity) }
        let identity = try await asking.ask(&source, within: limit) { connector, account in
            try await connector.identify(account)
        }
        known.withLock { known in
            if known.count >= capacity { known.removeAll() }
            known[key] = identity
        }
        source.account.take(identity)
    }
}

extension NetworkAccount {
    mutating func take(_ identity: NetworkIdentity) {
        id = identity.id
        username = identity.username ?? username
        avatarUrl = identity.avatarUrl ?? avatarUrl
        details.merge(identity.details) { $1 }
        if let better = identity.tokens { tokens = tokens.renewed(by: better) }
    }
}
