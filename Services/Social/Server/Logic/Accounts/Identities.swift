import Locks
import SocialAPI

/// Who accounts are whose tokens came with a request and nothing else; asked once, and known for a while.
final class Identities: Sendable {
    private let known = Lock<[String: NetworkIdentity]>([:])
    private let capacity = 10_000

    /// Fills in what is missing of an account.
    func complete(_ source: inout Source, _ networkGateway: NetworkGateway, within limit: Duration) async throws {
        let providedID = source.account.id
        // A linked account was identified when it was linked.
        let isFromRequest = source.record == nil && source.network != .roost
        guard providedID == nil || isFromRequest && !source.connector.acceptsProvidedID(source.account) else { return }
        let key = "\(source.key) \(providedID ?? "")"
        if let identity = known.withLock({ $0[key] }) { return source.account.apply(identity) }
        let identity = try await networkGateway.call(&source, within: limit) { connector, account in
            try await connector.identify(account)
        }
        if let providedID, !identity.matches(providedID) {
            throw NetworkError(
                .invalid,
                "the tokens belong to another account than \"id\" names",
                code: "account_mismatch"
            )
        }
        known.withLock { known in
            if known.count >= capacity { known.removeAll() }
            known[key] = identity
        }
        source.account.apply(identity)
    }
}

extension NetworkAccount {
    mutating func apply(_ identity: NetworkIdentity) {
        id = identity.id
        username = identity.username ?? username
        avatarUrl = identity.avatarUrl ?? avatarUrl
        details.merge(identity.details) { $1 }
        if let better = identity.tokens { tokens = tokens.renewed(by: better) }
    }
}
