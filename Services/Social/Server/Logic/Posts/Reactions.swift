import Foundation
import SocialAPI
import Wire

/// Reactions to other users' posts: likes and favourites.
struct Reactions: Sendable {
    let sources: Sources
    let networkGateway: NetworkGateway
    let identities: Identities

    /// Likes an item or makes it a favourite.
    ///
    /// Repeating a like has no effect, so an unknown outcome is retried once.
    func react(_ element: PostElement, to target: FeedDraft.Target, for caller: Caller) async throws -> PostResponse {
        let field = "data.\(element.rawValue)"
        let network = try FeedDraft.network(target.network, "\(field).network")
        // The id may have the network's name in front, as in items, or not.
        let nativeID = ItemID(target.id).flatMap { $0.network == network ? $0.native : nil }
        let id = nativeID ?? target.id
        guard !id.isEmpty, id.utf8.count <= 2_048 else { throw APIError.missing("\(field).id") }
        var source = try await sources.require(network, for: caller)
        try source.requireSupport(element)
        let result = await attempt(&source) { connector, account in try await connector.like(id, as: account) }
        return PostResponse(result, of: element, named: target.network)
    }

    private func attempt(
        _ source: inout Source,
        _ call: @escaping @Sendable (any Connector, NetworkAccount) async throws -> PublishedPost
    ) async -> PostResult {
        do {
            try await identities.complete(&source, networkGateway, within: networkGateway.deadline)
            do {
                return Publisher.result(
                    try await networkGateway.call(&source, within: .seconds(10), isWrite: true, call),
                    source.network
                )
            } catch let error as NetworkError where error.kind == .unknownOutcome {
                return Publisher.result(
                    try await networkGateway.call(&source, within: .seconds(10), isWrite: true, call),
                    source.network
                )
            }
        } catch {
            return Publisher.result(NetworkError(error, isWrite: true))
        }
    }
}

extension Source {
    /// Checks that the network supports an element.
    ///
    /// - Throws: `no_target_network` if the account's capabilities lack the element.
    func requireSupport(_ element: PostElement) throws {
        let accountCapabilities = connector.accountCapabilities(of: account)
        guard !accountCapabilities.supported.contains(element.capability) else { return }
        let reason =
            accountCapabilities.reasons[element.capability]
            ?? "\(network.rawValue) does not support \"\(element.rawValue)\""
        throw APIError.invalid("data.\(element.rawValue)", reason, code: "no_target_network")
    }
}

extension PostResponse {
    /// Creates the response for the only element on the only network.
    init(_ result: PostResult, of element: PostElement, named name: String) {
        var result = result
        result.parts[element] = result.code
        self.init([name: result])
    }
}
