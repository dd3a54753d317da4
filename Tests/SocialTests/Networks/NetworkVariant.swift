import Foundation
import NIOCore
import SandboxServer
import ServiceHost
import SocialAPI
import Testing
import Wire

@testable import SocialServer

/// A network of the sandbox with an API version.
struct NetworkVariant: Hashable, Sendable, CustomTestStringConvertible {
    var service: SandboxService
    /// The value of `FACEBOOK_API` and similar settings.
    var api: String?
    /// Whether the token of OAuth 2.0 is used instead of the one of OAuth 1.0a.
    var isBearing = false

    var testDescription: String { "\(service.rawValue) \(api ?? "")\(isBearing ? "bearing" : "")" }

    static let mastodon = NetworkVariant(service: .mastodon)
    static let bluesky = NetworkVariant(service: .bluesky)
    static let reddit = NetworkVariant(service: .reddit)
    static let twitter = NetworkVariant(service: .twitter)
    static let twitter2 = NetworkVariant(service: .twitter, isBearing: true)
    static let tumblr = NetworkVariant(service: .tumblr)
    static let facebook = NetworkVariant(service: .facebook)
    static let facebook2015 = NetworkVariant(service: .facebook, api: "personal")
    static let instagram = NetworkVariant(service: .instagram)
    static let instagram2015 = NetworkVariant(service: .instagram, api: "v1")
    static let vine = NetworkVariant(service: .vine)

    static let all = [
        mastodon, bluesky, reddit, twitter, twitter2, tumblr, facebook, facebook2015, instagram, instagram2015, vine,
    ]
    /// The variants whose feed has posts of other users.
    static let withHomeFeed = all.filter { ![facebook, instagram].contains($0) }
    static let posting = all.filter { $0 != instagram2015 }
    static let liking = all.filter { $0 != instagram }
    static let withMessages = [mastodon, bluesky, reddit, twitter, twitter2, facebook, facebook2015, instagram]
    static let withNotifications = all.filter { ![facebook, instagram].contains($0) }
}

/// The sandbox and the connections to it.
struct SandboxFixture {
    let sandbox: Sandbox
    let connections: OutboundConnections

    /// Returns a connector and an account of a user, in the state after linking.
    func link(
        _ name: String,
        on variant: NetworkVariant
    ) async throws -> (any Connector, SocialServer.NetworkAccount) {
        let known = try #require(sandbox.networks.account(name, on: variant.service))
        let network = try #require(Network(rawValue: variant.service.rawValue))
        let base = "\(sandbox.url)/\(network.rawValue)"
        let connector = try connector(network, base, variant.api)
        var account = SocialServer.NetworkAccount(
            owner: User.ID(application: "roost", user: name),
            id: nil,
            tokens: NetworkTokens(
                access: known.accessToken,
                secret: variant.isBearing ? nil : known.accessTokenSecret,
                refresh: known.refreshToken
            ),
            instance: [.mastodon, .bluesky].contains(network) ? base : nil
        )
        if network == .bluesky, let password = known.password {
            (account.id, account.tokens) = (known.id, NetworkTokens(access: password))
        }
        let identity = try await connector.identify(account)
        (account.id, account.username, account.details) = (identity.id, identity.username, identity.details)
        if let tokens = identity.tokens { account.tokens = tokens }
        return (connector, account)
    }

    /// Returns a JPEG of one pixel, with a URL for networks that fetch media.
    func picture() async throws -> OutgoingMedia {
        let jpeg =
            "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCg"
            + "wSExIQEw8QEBD/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//"
            + "2Q=="
        let bytes = try #require(Data(base64Encoded: jpeg))
        var picture = OutgoingMedia(
            bytes: ByteBuffer(bytes: bytes),
            type: "image/jpeg",
            width: 1,
            height: 1,
            alt: "a dot"
        )
        picture.url = try await address(of: .saying("", photos: [picture]))
        return picture
    }

    /// Returns a video, with a URL for networks that fetch media.
    func video() async throws -> OutgoingMedia {
        var video = OutgoingMedia.video
        video.url = try await address(of: .saying("", video: video))
        return video
    }

    /// Uploads the file of a post to the sandbox and returns its URL.
    private func address(of post: NetworkPost) async throws -> String {
        let (mastodon, cara) = try await link("cara", on: .mastodon)
        let kept = try await mastodon.prepare(post, as: cara)
        let id = try #require((kept?.value["media"]).list.first?.text)
        return "\(sandbox.url)/sandbox/media/\(id)"
    }

    private func connector(_ network: Network, _ base: String, _ api: String?) throws -> any Connector {
        let key = ApplicationKey(
            baseURL: base,
            id: "roost-\(network.rawValue)",
            secret: "roost-\(network.rawValue)-secret",
            others: api.map { ["API": $0] } ?? [:]
        )
        let origin = try #require(HTTPOrigin(base))
        let parts = ConnectorParts(
            key: key,
            http: OutsideHTTP(reach: .listed([origin]), connections: connections),
            now: { Date() }
        )
        return try #require(Connectors.make(network, parts))
    }
}

private let sandboxKeys = Result { try SandboxKeys() }

/// Runs a test with a sandbox that has a number of posts on each network.
func withSandboxNetworks(posts: Int = 60, _ test: (SandboxFixture) async throws -> Void) async throws {
    var configuration = SandboxConfiguration()
    configuration.threads = 1
    configuration.posts = posts
    configuration.keys = try sandboxKeys.get()
    try await Sandbox.run(configuration) { sandbox in
        let connections = try OutboundConnections(trustedCA: nil)
        do {
            try await test(SandboxFixture(sandbox: sandbox, connections: connections))
            await connections.shutdown()
        } catch {
            await connections.shutdown()
            throw error
        }
    }
}

extension SandboxFixture {
    /// Sends a private message on the sandbox.
    func sendMessage(_ text: String, from sender: String, to: String, on variant: NetworkVariant) async throws {
        let origin = try #require(HTTPOrigin(sandbox.url))
        let http = OutsideHTTP(reach: .listed([origin]), connections: connections)
        let body: JSONValue = .object(["from": .string(sender), "to": .string(to), "text": .string(text)])
        let url = "\(sandbox.url)/sandbox/networks/\(variant.service.rawValue)/messages"
        let answer = try await http.send(SocialServer.NetworkRequest.json(url, body))
        #expect(answer.status == 201)
    }
}
