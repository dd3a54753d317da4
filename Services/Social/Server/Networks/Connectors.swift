import SocialAPI

/// The connectors there are, by network.
struct Connectors: Sendable {
    private let known: [Network: any Connector]

    init(_ connectors: [any Connector]) {
        known = Dictionary(uniqueKeysWithValues: connectors.map { ($0.network, $0) })
    }

    subscript(network: Network) -> (any Connector)? { known[network] }

    /// In the order in which networks are always listed.
    var all: [any Connector] { Network.allCases.compactMap { known[$0] } }

    /// One for each network that has its parts, and the suite itself.
    static func make(_ parts: [Network: ConnectorParts], roost: RoostConnector) -> Connectors {
        Connectors([roost] + parts.compactMap { network, parts in make(network, parts) })
    }

    static func make(_ network: Network, _ parts: ConnectorParts) -> (any Connector)? {
        switch network {
        case .facebook: FacebookConnector(parts)
        case .instagram: InstagramConnector(parts)
        case .tumblr: TumblrConnector(parts)
        case .vine: VineConnector(parts)
        case .twitter: TwitterConnector(parts)
        case .reddit: RedditConnector(parts)
        case .bluesky: BlueskyConnector(parts)
        case .mastodon: MastodonConnector(parts)
        case .roost: nil
        }
    }
}
