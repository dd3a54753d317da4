import SocialAPI

struct Connectors: Sendable {
    private let byNetwork: [Network: any Connector]

    init(_ connectors: [any Connector]) {
        byNetwork = Dictionary(uniqueKeysWithValues: connectors.map { ($0.network, $0) })
    }

    subscript(network: Network) -> (any Connector)? { byNetwork[network] }

    /// The connectors in the order in which networks are listed.
    var all: [any Connector] { Network.allCases.compactMap { byNetwork[$0] } }

    /// Creates a connector for each network with dependencies, and adds the one for Roost itself.
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
