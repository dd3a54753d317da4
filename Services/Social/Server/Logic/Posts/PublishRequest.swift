import SocialAPI

/// What one network is to have: a post, or an answer in a thread.
enum PublishRequest: Sendable {
    case post(NetworkPost)
    case reply(NetworkReply)

    /// All that is needed before the one step that people see.
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

    /// Nil says that the network surely does not have it.
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
