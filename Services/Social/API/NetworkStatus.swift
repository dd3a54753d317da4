import Wire

package enum LinkState: String, Codable, Sendable {
    case linked
    /// The tokens have expired and could not be renewed yet; Roost tries again.
    case expired
    /// The tokens no longer work; the user must link the account again.
    case reauthenticate
}

/// The state of a network for a user.
package struct NetworkStatus: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "networks"

    package var network: Network
    package var linked: Bool
    /// Null if no account is linked.
    package var state: LinkState?
    /// The account's id on the network, if it is known.
    package var id: String?
    package var username: String?
    /// The URL of the account's avatar, if the network provides it.
    package var avatarUrl: String?
    /// The server that hosts the account, for networks with many servers (Mastodon, Bluesky).
    package var instance: String?
    package var capabilities: Capabilities
    package var limits: PostLimits
    /// The reason in English for each missing capability.
    package var reasons: [Capability: String]
    /// The reason as a stable code for each missing capability.
    package var reasonCodes: [Capability: CapabilityReason]

    package init(
        network: Network,
        linked: Bool,
        state: LinkState? = nil,
        id: String? = nil,
        username: String? = nil,
        avatarUrl: String? = nil,
        instance: String? = nil,
        capabilities: Capabilities,
        limits: PostLimits,
        reasons: [Capability: String],
        reasonCodes: [Capability: CapabilityReason]
    ) {
        self.network = network
        self.linked = linked
        self.state = state
        self.id = id
        self.username = username
        self.avatarUrl = avatarUrl
        self.instance = instance
        self.capabilities = capabilities
        self.limits = limits
        self.reasons = reasons
        self.reasonCodes = reasonCodes
    }

    // Written by hand because the synthesized method would omit a null `state`.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(network, forKey: .network)
        try values.encode(linked, forKey: .linked)
        try values.encode(state, forKey: .state)
        try values.encodeIfPresent(id, forKey: .id)
        try values.encodeIfPresent(username, forKey: .username)
        try values.encodeIfPresent(avatarUrl, forKey: .avatarUrl)
        try values.encodeIfPresent(instance, forKey: .instance)
        try values.encode(capabilities, forKey: .capabilities)
        try values.encode(limits, forKey: .limits)
        try values.encode(reasons, forKey: .reasons)
        try values.encode(reasonCodes, forKey: .reasonCodes)
    }
}

/// The tokens and the account that a client sends in order to link a network.
package struct LinkDraft: Codable, Hashable, Sendable {
    package var accessToken: String
    package var accessTokenSecret: String?
    package var id: String?
    package var refreshToken: String?
    /// The server of the account, for networks with many servers: `mastodon.example` or `https://mastodon.example`.
    package var instance: String?
    /// The lifetime of the access token in seconds, as in an OAuth token response.
    package var expiresIn: Double?

    // The names are those of the seed.
    private enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case accessTokenSecret = "access_token_secret"
        case id
        case refreshToken = "refresh_token"
        case instance
        case expiresIn = "expires_in"
    }

    package init(
        accessToken: String,
        accessTokenSecret: String? = nil,
        id: String? = nil,
        refreshToken: String? = nil,
        instance: String? = nil,
        expiresIn: Double? = nil
    ) {
        self.accessToken = accessToken
        self.accessTokenSecret = accessTokenSecret
        self.id = id
        self.refreshToken = refreshToken
        self.instance = instance
        self.expiresIn = expiresIn
    }
}

/// The body of a request to link an account through the network's consent page.
package struct AuthorizationDraft: Codable, Hashable, Sendable {
    package var redirectUrl: String
    package var instance: String?
    /// The account's handle or DID; a network with many servers (Bluesky) finds the account's server by it.
    package var id: String?

    package init(redirectUrl: String, instance: String? = nil, id: String? = nil) {
        self.redirectUrl = redirectUrl
        self.instance = instance
        self.id = id
    }
}

/// The network's consent page.
package struct AuthorizationPage: Codable, Hashable, Sendable {
    package var url: String

    package init(url: String) { self.url = url }
}

/// The one-time code that the client received with the redirect from the network.
package struct AuthorizationCode: Codable, Hashable, Sendable {
    package var code: String

    package init(code: String) { self.code = code }
}
