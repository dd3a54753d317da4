import Locks
import SocialAPI

/// A cache of the identities behind tokens that came with a request instead of a linked account.
final class Identities: Sendable {
    private let cache = Lock<[String: NetworkIdentity]>([:])
    private let capacity = 10_000

    /// Sets the identity of the source's account if it is missing.
    func complete(_ source: inout Source, _ networkGateway: NetworkGateway, within limit: Duration) async throws {
        let providedID = source.account.id
        // A linked account was identified when it was linked.
        let isFromRequest = source.record == nil && source.network != .roost
        guard providedID == nil || isFromRequest && !source.connector.acceptsProvidedID(source.account) else { return }
        let key = "\(source.key) \(providedID ?? "")"
        if let identity = cache.withLock({ $0[key] }) { return source.account.apply(identity) }
        let identity = try await networkGateway.call(&source, within: limit) { connector, account in
            try await connector.identify(account)
        }
        if let providedID, !identity.matches(providedID) {
            throw NetworkError(
                .invalid,
                "the tokens belong to a different account than \"id\"",
                code: "account_mismatch"
            )
        }
        cache.withLock { cache in
            if cache.count >= capacity { cache.removeAll() }
            cache[key] = identity
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
        let authorIDs = identity.authorIDs
        details["authorIDs"] = authorIDs.isEmpty ? nil : authorIDs.joined(separator: "\n")
        if let better = identity.tokens { tokens = tokens.renewed(by: better) }
    }
}
