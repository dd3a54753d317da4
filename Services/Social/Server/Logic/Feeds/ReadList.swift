import SocialAPI

enum ReadList: Hashable, Sendable {
    case feed, notifications, threads
    case messages(network: Network, thread: String)

    /// The name in cursors and cache keys.
    var name: String {
        switch self {
        case .feed: "social/feed"
        case .notifications: "social/notifications"
        case .threads: "social/threads"
        case .messages(let network, let thread): "social/messages/\(network.rawValue)/\(thread)"
        }
    }

    var capability: Capability {
        switch self {
        case .feed: .feed
        case .notifications: .notifications
        case .threads, .messages: .messages
        }
    }

    /// Whether a response has the newest item last (seed comblie: most recent at the bottom).
    var isNewestLast: Bool { capability == .messages }

    func page(
        _ request: PageRequest,
        of connector: any Connector,
        as account: NetworkAccount
    ) async throws -> NetworkPage {
        switch self {
        case .feed: try await connector.feed(request, as: account)
        case .notifications: try await connector.notifications(request, as: account)
        case .threads: try await connector.threads(request, as: account)
        case .messages(_, let thread): try await connector.messages(of: thread, request, as: account)
        }
    }
}
