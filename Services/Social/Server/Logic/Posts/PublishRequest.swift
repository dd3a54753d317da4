import SocialAPI

/// A request to publish on one network: a post, or a reply in a thread.
enum PublishRequest: Sendable {
    case post(NetworkPost)
    case reply(NetworkReply)

    /// Performs all steps before the one that makes the post visible.
    func prepare(by connector: any Connector, as account: NetworkAccount) async throws -> PreparedPost? {
        switch self {
        case .post(let post): try await connector.prepare(post, as: account)
        case .reply: nil
        }
    }

    func publish(
        _ prepared: PreparedPost?,
        by connector: any Connector,
        as account: NetworkAccount
    ) async throws -> PublishedPost {
        switch self {
        case .post(let post): try await connector.publish(post, prepared: prepared, as: account)
        case .reply(let reply): try await connector.reply(reply, as: account)
        }
    }

    /// Finds the published post; nil means that the network certainly does not have it.
    func find(
        _ prepared: PreparedPost?,
        by connector: any Connector,
        as account: NetworkAccount
    ) async throws -> PublishedPost? {
        switch self {
        case .post(let post): try await connector.find(post, prepared: prepared, as: account)
        case .reply(let reply): try await connector.find(reply, as: account)
        }
    }
}
