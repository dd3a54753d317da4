import Configuration
import Foundation
import NetworkGuard
import ServiceHost
import SocialAPI

/// The settings that only social has: the URLs of the networks and the registrations with them.
struct SocialConfiguration: Sendable {
    /// `<NETWORK>_URL`, `<NETWORK>_CLIENT_ID`, `<NETWORK>_CLIENT_SECRET`; the URL of Mastodon comes with each account.
    var keys: [Network: ApplicationKey] = [:]
    /// `RPAN_URL` (none): the URL of the list of live broadcasts; without it there are no broadcasts.
    var rpanURL: String?
    /// `TOKEN_ENCRYPTION_KEY`: the keys of network tokens; the first one encrypts, the others only decrypt.
    var encryptionKeys: String
    /// `SOCIAL_DEADLINE_MS` (3,000): the time limit of a network for its part of a response.
    var deadline: Duration
    /// `SOCIAL_REDIRECT_URLS` (none): the URLs to which users may be redirected after a network's consent page.
    var redirectURLs: [String]
    /// The posts with files that an instance reads at once, each up to 24 MB in memory.
    ///
    /// Eight take 96 MB on average, a fifth of the 512 MB that compose gives to the service.
    var maximumUploads = 8
    /// `STORAGE_QUOTA_BYTES`: the bytes of files in a user's scheduled posts, if less than 256 MB; above it 507.
    var quota: StorageQuota
    var realtime: RealtimeConfiguration
    /// `PUSH_URL`: whether push is configured.
    var notifiesPush: Bool
    /// `TRUSTED_CA`: a PEM file of certificate authorities to trust in addition to the system's.
    var trustedCA: String?
    /// `ALLOWED_PRIVATE_HOSTS`: the private hosts that users may name, in addition to public addresses.
    var outsideHosts = AddressGuard()

    private static let addresses: [Network: String] = [
        .facebook: "https://graph.facebook.com", .twitter: "https://api.twitter.com",
        .instagram: "https://graph.instagram.com", .vine: "https://api.vineapp.com",
        .tumblr: "https://api.tumblr.com", .reddit: "https://oauth.reddit.com", .bluesky: "https://bsky.social",
    ]

    /// The networks with many servers, which users name when they link an account.
    private static let federatedNetworks: Set<Network> = [.mastodon, .bluesky]

    init(_ configuration: ConfigReader) throws {
        encryptionKeys = try configuration.secret("TOKEN_ENCRYPTION_KEY")
        deadline = .milliseconds(try configuration.number("SOCIAL_DEADLINE_MS", default: 3_000, in: 10...60_000))
        quota = try StorageQuota(configuration)
        realtime = try RealtimeConfiguration(configuration)
        notifiesPush = configuration.text("PUSH_URL") != nil
        redirectURLs = configuration.text("SOCIAL_REDIRECT_URLS", default: "").split(separator: ",")
            .map { $0.trimmingCharacters(in: .whitespaces) }
        for network in Network.allCases where network != .roost {
            let name = network.rawValue.uppercased()
            let address = try Self.addresses[network].map { try configuration.url("\(name)_URL", default: $0) }
            keys[network] = ApplicationKey(
                baseURL: address ?? "",
                id: configuration.text("\(name)_CLIENT_ID"),
                secret: try network == .bluesky
                    ? BlueskyOAuthClient.key(configuration) : configuration.text("\(name)_CLIENT_SECRET"),
                others: try ApplicationKey.others(of: network, configuration)
            )
        }
        rpanURL = try configuration.text("RPAN_URL").map { try configuration.url("RPAN_URL", default: $0) }
        trustedCA = try configuration.key("TRUSTED_CA")
        outsideHosts = try AddressGuard(configuration)
    }

    /// The limit of forms in memory.
    ///
    /// It assumes that few files have the maximum size; each network that receives a file takes another copy.
    var formSlots: UploadConcurrencyLimit {
        UploadConcurrencyLimit(
            capacity: maximumUploads,
            ofUser: 4,
            bytes: max(PostForm.maximumFile + PostForm.maximumFields, maximumUploads * 12_582_912),
            bytesOfUser: 2 * (PostForm.maximumFile + PostForm.maximumFields)
        )
    }

    func parts(_ connections: OutboundConnections, now: @escaping @Sendable () -> Date) -> [Network: ConnectorParts] {
        Dictionary(
            uniqueKeysWithValues: keys.map { network, key in
                let listed = key.endpoints(of: network).compactMap(HTTPOrigin.init)
                let reach: OutsideHTTP.Reach =
                    Self.federatedNetworks.contains(network) ? .userSupplied(outsideHosts) : .listed(Set(listed))
                let http = OutsideHTTP(reach: reach, connections: connections)
                return (network, ConnectorParts(key: key, http: http, now: now))
            }
        )
    }
}
