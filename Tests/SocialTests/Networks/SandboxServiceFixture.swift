import Foundation
import HTTPTypes
import NIOCore
import Postgres
import SandboxServer
import ServiceClient
import ServiceHost
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// The service over one network of the sandbox, with an operator's settings and a fake push.
///
/// The service and the sandbox have the same clock.
struct SandboxServiceFixture: Sendable {
    static let redirectURL = "https://app.example/linked"

    let service: TestService
    let sandbox: Sandbox
    let variant: NetworkVariant
    let network: Network
    let push: FakePush
    let clock: TestClock
    let ann: TestUser
    fileprivate let connections: OutboundConnections

    /// Sends a request to the sandbox like a browser or an operator, without following redirects.
    func send(_ request: SocialServer.NetworkRequest) async throws -> NetworkResponse {
        let origin = try #require(HTTPOrigin(sandbox.url))
        return try await OutsideHTTP(reach: .listed([origin]), connections: connections).send(request)
    }

    /// Returns what a query answers in its column `row`.
    func rows(_ query: String) async throws -> [String] {
        try await service.database.pool.all(PostgresQuery(sql: query), as: { try $0.string("row") })
    }

    /// Links the account of a user of the sandbox with its tokens.
    func link(as name: String = "ana") async throws {
        let known = try #require(sandbox.networks.account(name, on: variant.service))
        var fields = ["access_token": known.accessToken]
        // Tokens of OAuth 1.0a have a secret and are not renewed.
        fields["access_token_secret"] = variant.isBearing ? nil : known.accessTokenSecret
        fields["refresh_token"] = fields["access_token_secret"] == nil ? known.refreshToken : nil
        if network == .bluesky, let password = known.password { fields = ["access_token": password, "id": known.id] }
        if [.mastodon, .bluesky].contains(network) { fields["instance"] = sandbox.url }
        let body = String(decoding: try WireJSON.encoder().encode(fields), as: UTF8.self)
        let answer = try await ann.ask(.put, "/networks/\(network.rawValue)", body)
        guard answer.status == 200 else { throw TestSupportError("\(answer.status): \(answer.text)") }
    }

    // MARK: Actions on the network

    /// Publishes a post with the media that the network requires.
    func publish(_ text: String, by author: String) async throws {
        try await control(
            "posts",
            [
                "author": .string(author), "text": .string(text), "photo": .bool(network == .instagram),
                "video": .bool(network == .vine),
            ]
        )
    }

    /// Sends a private message.
    func sendMessage(_ text: String, from sender: String, to recipient: String) async throws {
        try await control(
            "messages",
            ["from": .string(sender), "to": .string(recipient), "text": .string(text)]
        )
    }

    private func control(_ path: String, _ body: [String: JSONValue]) async throws {
        let url = "\(sandbox.url)/sandbox/networks/\(network.rawValue)/\(path)"
        let answer = try await send(.json(url, .object(body)))
        guard 200..<300 ~= answer.status else {
            throw TestSupportError("\(answer.status): \(String(buffer: answer.body))")
        }
    }

    // MARK: Polls and webhooks

    /// Makes the next poll of a list due, and waits until it is done.
    func poll(_ list: NetworkEvent.List) async throws {
        try await settled(list)
        // The time exceeds the longest pause between two polls.
        clock.advance(by: 1_000)
        try await settled(list)
    }

    /// Waits until a list is neither due nor being polled.
    func settled(_ list: NetworkEvent.List) async throws {
        let now = Timestamp.string(from: clock.read())
        // A list that is being polled is due when its claim ends, after a minute.
        let end = Timestamp.string(from: clock.read().addingTimeInterval(60))
        try await eventually("polled") {
            try await rows(
                """
                SELECT list AS row FROM polled_lists
                WHERE list = '\(list.rawValue)' AND due_at > timestamptz '\(now)'
                    AND due_at NOT BETWEEN timestamptz '\(end)' - interval '1 ms' AND timestamptz '\(end)' + interval '1 ms'
                """
            ).count == 1
        }
    }

    /// Registers the service on `port` for the network's webhooks, like an operator does.
    func registerWebhook(at port: Int) async throws {
        let base = "\(sandbox.url)/\(network.rawValue)"
        let callback = "http://127.0.0.1:\(port)/webhooks/\(network.rawValue)"
        let answer: NetworkResponse
        if network == .twitter {
            let request = try SocialServer.NetworkRequest.json(
                "\(base)/2/webhooks",
                .object(["url": .string(callback)])
            )
            answer = try await send(request.bearer("roost-twitter-app-token"))
        } else {
            answer = try await send(
                .form(
                    "\(base)/v24.0/roost/subscriptions",
                    [
                        "object": network == .facebook ? "page" : "instagram", "callback_url": callback,
                        "fields": "messages", "verify_token": Self.verifyToken,
                        "access_token": "roost-\(network.rawValue)|roost-\(network.rawValue)-secret",
                    ]
                )
            )
        }
        guard answer.status == 200 else {
            throw TestSupportError("\(answer.status): \(String(buffer: answer.body))")
        }
    }

    /// Holds the network's webhook deliveries back, or releases them and waits until they are delivered.
    func holdWebhooks(_ isHeld: Bool) async throws {
        try await control("webhooks", ["held": .bool(isHeld)])
        guard !isHeld else { return }
        let url = "\(sandbox.url)/sandbox/networks/\(network.rawValue)/webhooks"
        try await eventually("delivered") {
            let answer = try await send(.get(url))
            return try JSONParser.parse(answer.body.readableBytesView)["waiting"].int == 0
        }
    }

    // MARK: Settings

    fileprivate static let verifyToken = "sandbox"

    fileprivate static func settings(
        _ variant: NetworkVariant,
        _ sandbox: Sandbox,
        isPolling: Bool
    ) -> [String: String] {
        let name = variant.service.rawValue
        let prefix = name.uppercased()
        var settings = SocialFixture.settings.merging([
            "\(prefix)_URL": "\(sandbox.url)/\(name)", "\(prefix)_CLIENT_ID": "roost-\(name)",
            "\(prefix)_VERIFY_TOKEN": verifyToken, "PUSH_URL": "http://push", "SOCIAL_REDIRECT_URLS": redirectURL,
            "ALLOWED_PRIVATE_HOSTS": String(sandbox.url.dropFirst("http://".count)),
        ]) { $1 }
        settings["\(prefix)_API"] = variant.api
        // Bluesky's client secret is a private key, which a client need not have.
        if variant.service != .bluesky { settings["\(prefix)_CLIENT_SECRET"] = "roost-\(name)-secret" }
        if isPolling { settings["SOCIAL_POLLS_PER_HOUR"] = SocialFixture.pollsPerHour(1_000_000) }
        return settings
    }
}

private let sandboxKeys = Result { try SandboxKeys() }

/// Runs the service over the sandbox for the time of a test; lists are polled only with `isPolling`.
func withSandboxService(
    _ variant: NetworkVariant,
    isPolling: Bool = false,
    _ body: (SandboxServiceFixture) async throws -> Void
) async throws {
    let (clock, keys, push) = (TestClock(), TestKeys(), FakePush())
    let network = try #require(Network(rawValue: variant.service.rawValue))
    let connections = try OutboundConnections(trustedCA: nil)
    var configuration = SandboxConfiguration()
    configuration.now = clock.read
    configuration.threads = 1
    configuration.posts = 20
    configuration.keys = try sandboxKeys.get()
    do {
        try await Sandbox.run(configuration) { sandbox in
            try await TestService.with(
                SocialService.self,
                settings: SandboxServiceFixture.settings(variant, sandbox, isPolling: isPolling),
                peers: .with([
                    "auth": ServiceClient(callee: "auth", transport: AuthTransport(keys), retry: .never),
                    "push": push.client,
                ]),
                now: clock.read
            ) { service in
                let ann = try await TestUser(
                    User.ID(application: SocialFixture.application, user: "ann"),
                    at: service,
                    keys
                )
                let fixture = SandboxServiceFixture(
                    service: service,
                    sandbox: sandbox,
                    variant: variant,
                    network: network,
                    push: push,
                    clock: clock,
                    ann: ann,
                    connections: connections
                )
                try await body(fixture)
            }
        }
        await connections.shutdown()
    } catch {
        await connections.shutdown()
        throw error
    }
}
