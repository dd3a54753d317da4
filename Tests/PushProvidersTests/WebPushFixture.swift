import Crypto
import Foundation
import NetworkGuard

@testable import PushProviders

/// A scripted push service with a client and a browser's subscription.
struct WebPushFixture: Sendable {
    let server: HTTP1Server
    let client: WebPushClient
    let clock: TestClock
    let port: Int
    let key: VAPIDKey
    let browser = Browser()

    func send(_ message: PushMessage = .greeting, to url: String? = nil) async -> PushReply {
        await client.send(message, to: browser.target(url ?? "http://127.0.0.1:\(port)/push/1?a=b"))
    }
}

/// The keys that a browser makes for a subscription.
struct Browser: Sendable {
    let key = P256.KeyAgreement.PrivateKey()
    let secret = WebPushEncryption.randomSalt()

    var privateKey: String { Base64URL.encode(key.rawRepresentation) }
    var auth: String { Base64URL.encode(secret) }

    func target(_ url: String) -> PushTarget {
        .web(endpoint: url, p256dh: Base64URL.encode(key.publicKey.x963Representation), auth: auth)
    }
}

/// Runs `body` with a client that may connect to the server, which follows `script`.
func withWebPush(
    isSecure: Bool = false,
    configure: (inout WebPushClient.Configuration, _ port: Int) -> Void = { configuration, port in
        configuration.addresses = AddressGuard(allowing: ["127.0.0.1:\(port)", "localhost:\(port)"])
    },
    answering script: @escaping HTTP1Server.Script = { _ in .init(status: 201, fields: ["location": "/message/1"]) },
    _ body: (WebPushFixture) async throws -> Void
) async throws {
    try await HTTP1Server.run(isSecure: isSecure, script) { server, port in
        var configuration = WebPushClient.Configuration()
        configuration.trustedAuthorities = TestAuthority.certificate
        // Longer than any pause of a busy machine.
        (configuration.connectTimeout, configuration.requestTimeout) = (.seconds(30), .seconds(60))
        configure(&configuration, port)
        let clock = TestClock()
        let key = VAPIDKey()
        let client = try WebPushClient(
            key: key,
            subject: "mailto:push@example.org",
            configuration: configuration,
            now: { clock.now }
        )
        do {
            try await body(WebPushFixture(server: server, client: client, clock: clock, port: port, key: key))
        } catch {
            await client.shutdown()
            throw error
        }
        await client.shutdown()
    }
}
