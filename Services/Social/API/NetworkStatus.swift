import Wire

/// How it stands with an account that is linked.
package enum LinkState: String, Codable, Sendable {
    case linked
    /// The tokens have ended and could not be renewed yet; it is tried again.
    case expired
    /// Only the person can help, by linking anew.
    case reauthenticate
}

/// A network as somebody has it.
package struct NetworkStatus: Codable, Hashable, Sendable, PageItem {
    package static let pluralName = "networks"

    package var network: Network
    package var linked: Bool
    /// Null where nothing is linked.
    package var state: LinkState?
    /// The account's own id and name on the network, where they are known.
    package var id: String?
    package var username: String?
    /// The address of the account's picture, where the network gives it.
    package var avatarUrl: String?
    /// Where it lives, of a network of many places.
    package var instance: String?
    package var capabilities: Capabilities
    package var limits: PostLimits
    /// Why a capability is missing, by its name.
    package var reasons: [Capability: String]
    /// The same for a program: a stable code for each missing capability.
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

    // Written out for the null of `state`.
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

/// What a network is linked by, as a client gives it.
package struct LinkDraft: Codable, Hashable, Sendable {
    package var accessToken: String
    package var accessTokenSecret: String?
    package var id: String?
    package var refreshToken: String?
    /// Of networks of many places: `mastodon.example` or `https://mastodon.example`.
    package var instance: String?
    /// In how many seconds the access token ends, as OAuth's answers say it.
    package var expiresIn: Double?

    // The seed's own names.
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

/// A wish to be sent to a network.
package struct AuthorizationDraft: Codable, Hashable, Sendable {
    package var redirectUrl: String
    package var instance: String?
    /// The account's handle or DID, of networks that find by it where the account lives.
    package var id: String?

    package init(redirectUrl: String, instance: String? = nil, id: String? = nil) {
        self.redirectUrl = redirectUrl
        self.instance = instance
        self.id = id
    }
}

/// Where to go to agree.
package struct AuthorizationPage: Codable, Hashable, Sendable {
    package var url: String

    package init(url: String) { self.url = url }
}

/// The one-time code that one came back with.
package struct AuthorizationCode: Codable, Hashable, Sendable {
    package var code: String

    package init(code: String) { self.code = code }
}
