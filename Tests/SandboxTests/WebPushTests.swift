import Crypto
import Foundation
import NIOHTTP1
import SandboxServer
import Testing
import Wire

@Suite("Web Push of the sandbox", .timeLimit(.minutes(1))) struct WebPushTests {
    private let key = P256.Signing.PrivateKey()

    private func send(
        _ text: String,
        to subscription: WebSubscription,
        in fixture: SandboxFixture,
        as other: P256.Signing.PrivateKey? = nil,
        headers change: [String: String?] = [:]
    ) async throws -> SandboxResponse {
        let token = try Tokens.vapid(
            other ?? key,
            audience: fixture.sandbox.url,
            expiry: fixture.clock.seconds + 43_200
        )
        var headers: HTTPHeaders = ["authorization": token, "ttl": "60", "content-encoding": "aes128gcm"]
        for (name, value) in change {
            headers.remove(name: name)
            if let value { headers.add(name: name, value: value) }
        }
        let body = try Encryption.encrypted(Data(text.utf8), for: subscription)
        return try await fixture.send(.POST, subscription.endpoint, headers: headers, body: body)
    }

    @Test("A message is decrypted and shown with its headers")
    func decryption() async throws {
        try await withSandbox { fixture in
            let subscription = try fixture.sandbox.subscribe()
            let content = #"{"id":"n-1","title":"Live","body":"ü 🎹","data":{"url":"/x"}}"#

            let reply = try await send(
                content,
                to: subscription,
                in: fixture,
                headers: ["urgency": "high", "topic": "broadcast"]
            )

            #expect(reply.status == 201)
            #expect(reply.headers["location"].first?.hasPrefix(fixture.sandbox.url) == true)
            let received = try #require(fixture.sandbox.received.all().first)
            #expect(String(decoding: received.payload, as: UTF8.self) == content)
            let view = NotificationView(received)
            #expect((view.title, view.body, view.url, view.id) == ("Live", "ü 🎹", "/x", "n-1"))
            #expect(view.headers == ["ttl": "60", "urgency": "high", "topic": "broadcast"])
        }
    }

    @Test("A message may be empty or plain text")
    func emptyPush() async throws {
        try await withSandbox { fixture in
            let subscription = try fixture.sandbox.subscribe()
            let token = try Tokens.vapid(key, audience: fixture.sandbox.url, expiry: fixture.clock.seconds + 60)

            let empty = try await fixture.send(
                .POST,
                subscription.endpoint,
                headers: ["authorization": token, "ttl": "0"]
            )
            let text = try await send("just text", to: subscription, in: fixture)

            let statuses = [empty.status, text.status]
            #expect(statuses == [201, 201])
            #expect(NotificationView(try #require(fixture.sandbox.received.all().last)).body == "just text")
        }
    }

    @Test(
        "An invalid header is rejected with a reason",
        arguments: [
            ("ttl", nil, 400, "MissingTTL"), ("ttl", "soon", 400, "MissingTTL"), ("ttl", "2419201", 400, "TTLTooLong"),
            ("urgency", "now", 400, "BadUrgency"), ("topic", String(repeating: "t", count: 33), 400, "BadTopic"),
            ("topic", "a b", 400, "BadTopic"), ("content-encoding", "aesgcm", 400, "BadEncoding"),
            ("authorization", nil, 401, "MissingVapid"), ("authorization", "Bearer x", 401, "MissingVapid"),
            ("authorization", "vapid t=a.b.c", 401, "MalformedVapid"),
        ] as [(String, String?, Int, String)]
    )
    func invalidHeader(name: String, value: String?, status: Int, reason: String) async throws {
        try await withSandbox { fixture in
            let reply = try await send("{}", to: fixture.sandbox.subscribe(), in: fixture, headers: [name: value])

            #expect(reply.status == status)
            #expect(try reply.json()["error"]?.text == reason)
            #expect(fixture.sandbox.received.counts.refused == ["webpush \(status) \(reason)": 1])
        }
    }

    @Test("An invalid VAPID token is rejected with a reason")
    func invalidToken() async throws {
        try await withSandbox { fixture in
            let subscription = try fixture.sandbox.subscribe()
            let now = fixture.clock.seconds
            let other = P256.Signing.PrivateKey()
            let origin = fixture.sandbox.url
            let wrong: [(token: String, reason: String)] = [
                (try Tokens.vapid(key, audience: "https://push.example.org", expiry: now + 60), "BadAudience"),
                (try Tokens.vapid(key, audience: origin, expiry: now - 1), "ExpiredVapid"),
                (try Tokens.vapid(key, audience: origin, expiry: now + 90_000), "VapidTooLong"),
                (try Tokens.vapid(key, audience: origin, expiry: now + 60, shownAs: other), "BadVapidSignature"),
                (try Tokens.vapid(key, audience: origin, expiry: now + 60, subject: "me"), "BadSubject"),
            ]

            for (token, reason) in wrong {
                let reply = try await send("{}", to: subscription, in: fixture, headers: ["authorization": token])
                #expect(reply.status == 403)
                #expect(try reply.json()["error"]?.text == reason)
            }
        }
    }

    @Test("A subscription with an application server key accepts only that key")
    func restrictedSubscription() async throws {
        try await withSandbox { fixture in
            let own = Base64URL.encode(key.publicKey.x963Representation)
            let made = try await fixture.control("/sandbox/subscriptions", #"{"applicationServerKey":"\#(own)"}"#)
            let subscription = try made.decode(WebSubscription.self)

            let others = try await send("{}", to: subscription, in: fixture, as: P256.Signing.PrivateKey())
            let owners = try await send("{}", to: subscription, in: fixture)

            #expect(made.status == 201)
            #expect(made.text.contains(#""expirationTime":null"#))
            #expect((others.status, try others.json()["error"]?.text) == (403, "VapidKeyMismatch"))
            #expect(owners.status == 201)
            #expect(
                try await fixture.control("/sandbox/subscriptions", #"{"applicationServerKey":"AAAA"}"#).status == 400
            )
        }
    }

    @Test("An unknown subscription is not found, and an ended one is gone")
    func unknownSubscription() async throws {
        try await withSandbox { fixture in
            let subscription = try fixture.sandbox.subscribe()
            let id = try #require(subscription.endpoint.split(separator: "/").last)
            var invented = subscription
            invented.endpoint = "\(fixture.sandbox.url)/webpush/\(Base64URL.random(bytes: 32))"

            let unknown = try await send("{}", to: invented, in: fixture)
            let ended = try await fixture.control("/sandbox/subscriptions/\(id)", "", .DELETE)
            let gone = try await send("{}", to: subscription, in: fixture)

            let statuses = [unknown.status, ended.status, gone.status]
            #expect(statuses == [404, 204, 410])
        }
    }

    @Test("A message that cannot be decrypted or is too large is rejected")
    func undecryptable() async throws {
        try await withSandbox { fixture in
            let subscription = try fixture.sandbox.subscribe()
            var other = try fixture.sandbox.subscribe()
            other.endpoint = subscription.endpoint

            let mismatched = try await send("{}", to: other, in: fixture)
            let largest = try await send(String(repeating: "x", count: 3_993), to: subscription, in: fixture)
            let larger = try await send(String(repeating: "x", count: 3_994), to: subscription, in: fixture)

            #expect((mismatched.status, try mismatched.json()["error"]?.text) == (400, "CannotDecrypt"))
            #expect(largest.status == 201)
            #expect((larger.status, try larger.json()["error"]?.text) == (413, "PayloadTooLarge"))
        }
    }

    @Test("A scripted failure has its status and Retry-After")
    func scriptedFailures() async throws {
        try await withSandbox { fixture in
            let subscription = try fixture.sandbox.subscribe()
            for status in [404, 410, 413, 429, 500] {
                try fixture.sandbox.script.add(ScriptRule(service: .webPush, status: status, retryAfter: 3, times: 1))

                let reply = try await send("{}", to: subscription, in: fixture)

                #expect(reply.status == status)
                #expect(reply.headers["retry-after"] == ["3"])
            }
            #expect(try await send("{}", to: subscription, in: fixture).status == 201)
        }
    }

    @Test("A message is accepted over TLS")
    func overTLS() async throws {
        try await withSandbox { fixture in
            var subscription = try fixture.sandbox.subscribe()
            let host = fixture.sandbox.apnsURL
            subscription.endpoint = subscription.endpoint.replacing(fixture.sandbox.url, with: host)
            let token = try Tokens.vapid(key, audience: host, expiry: fixture.clock.seconds + 60)
            let body = try Encryption.encrypted(Data("{}".utf8), for: subscription)

            try await withFolder { folder in
                try fixture.sandbox.authorityPEM.write(toFile: "\(folder)/ca.pem", atomically: true, encoding: .utf8)
                try body.write(to: URL(filePath: "\(folder)/body"))
                let fields = ["authorization: \(token)", "ttl: 60", "content-encoding: aes128gcm"].flatMap {
                    ["-H", $0]
                }
                let arguments = [
                    "-s", "-i", "--http1.1", "--cacert", "\(folder)/ca.pem", "--data-binary", "@\(folder)/body",
                ]

                let output = try await Program.run("curl", arguments + fields + [subscription.endpoint]).output

                #expect(output.hasPrefix("HTTP/1.1 201"), "\(output)")
            }
        }
    }
}

/// Encrypts for a browser by RFC 8291, as a push server does.
private enum Encryption {
    static func encrypted(_ plain: Data, for subscription: WebSubscription) throws -> Data {
        let browser = try #require(Base64URL.decode(subscription.keys.p256dh))
        let auth = try #require(Base64URL.decode(subscription.keys.auth))
        let own = P256.KeyAgreement.PrivateKey()
        let point = own.publicKey.x963Representation
        let shared = try own.sharedSecretFromKeyAgreement(with: .init(x963Representation: browser))
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: auth,
            sharedInfo: Data("WebPush: info\0".utf8) + browser + point,
            outputByteCount: 32
        )
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
        func derive(_ info: String, _ count: Int) -> SymmetricKey {
            let info = Data("Content-Encoding: \(info)\0".utf8)
            return HKDF<SHA256>.deriveKey(inputKeyMaterial: material, salt: salt, info: info, outputByteCount: count)
        }
        let nonce = try derive("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: Data($0)) }
        let box = try AES.GCM.seal(plain + [2], using: derive("aes128gcm", 16), nonce: nonce)
        return salt + Data([0, 0, 16, 0, 65]) + point + box.ciphertext + box.tag
    }
}
