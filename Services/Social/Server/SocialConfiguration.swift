import Configuration
import Foundation
import NetworkGuard
import ServiceHost
import SocialAPI

/// The settings that only social has: where the networks are, and what they know this deployment by.
struct SocialConfiguration: Sendable {
    /// `<NETWORK>_URL`, `<NETWORK>_CLIENT_ID`, `<NETWORK>_CLIENT_SECRET`; Mastodon's address comes with each link.
    var keys: [Network: ApplicationKey] = [:]
    /// `RPAN_URL` (none): where it is asked what is live; without it nothing is.
    var rpanURL: String?
    /// `TOKEN_ENCRYPTION_KEY`: what people's tokens are sealed with, the first of several; the others only open.
    var encryptionKeys: String
    /// `SOCIAL_DEADLINE_MS` (3,000): how long one network has for its part of an answer.
    var deadline: Duration
    /// `SOCIAL_REDIRECT_URLS` (none): where people may be sent back to once they have agreed at a network.
    var redirectURLs: [String]
    /// `SOCIAL_UPLOADS_MAX` (8): how many posts with files an instance reads at once, each up to 24 MB in memory.
    var maximumUploads: Int
    /// `STORAGE_QUOTA_BYTES`: bytes of files that one user's scheduled posts may have, if fewer than 256 MB, before 507.
    var quota: StorageQuota
    /// What tells people what changes.
    var realtime: RealtimeConfiguration
    /// `PUSH_URL`: whether push is there to be told.
    var notifiesPush: Bool
    /// `TRUSTED_CA`: certificates of authorities that are trusted beside the machine's, PEM.
    var trustedCA: String?
    /// `ALLOWED_PRIVATE_HOSTS`: where else than at public addresses the places that users name may be.
    var outsideHosts = AddressGuard()

    /// Where each network is unless told otherwise.
    private static let addresses: [Network: String] = [
        .facebook: "https://graph.facebook.com", .twitter: "https://api.twitter.com",
        .instagram: "https://graph.instagram.com", .vine: "https://api.vineapp.com",
        .tumblr: "https://api.tumblr.com", .reddit: "https://oauth.reddit.com", .bluesky: "https://bsky.social",
    ]

    /// Networks that live in many places, each given by who links an account there.
    private static let federatedNetworks: Set<Network> = [.mastodon, .bluesky]

    init(_ configuration: ConfigReader) throws {
        encryptionKeys = try configuration.secret("TOKEN_ENCRYPTION_KEY")
        deadline = .milliseconds(try configuration.number("SOCIAL_DEADLINE_MS", default: 3_000, in: 10...60_000))
        maximumUploads = try configuration.number("SOCIAL_UPLOADS_MAX", default: 8, in: 1...1_000)
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

    /// The forms that are in memory at once: few have files of the largest size, and each network that a file goes to
    /// takes a copy.
    var formSlots: UploadConcurrencyLimit {
        UploadConcurrencyLimit(
            capacity: maximumUploads,
            ofUser: 4,
            bytes: max(PostForm.maximumFile + PostForm.maximumFields, maximumUploads * 12_582_912),
            bytesOfUser: 2 * (PostForm.maximumFile + PostForm.maximumFields)
        )
    }

    /// What each connector is made of.
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
