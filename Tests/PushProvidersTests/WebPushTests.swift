import Crypto
import Foundation
import NetworkGuard
import Testing

@testable import PushProviders

@Suite("Web Push") struct WebPushTests {
    @Test("The request has the headers of Web Push and a body that http-ece decrypts")
    func requestFormat() async throws {
        var message = PushMessage.greeting
        (message.badge, message.sound, message.collapseKey) = (3, "chord", "chat-7")
        message.imageURL = "https://example.org/a.png"
        message.expires = Date(timeIntervalSince1970: 1_800_003_600)
        message.data = ["url": .string("https://example.org/7")]
        try await withWebPush { [message] fixture in
            let reply = await fixture.send(message)

            #expect(reply == PushReply(.accepted, status: 201, receipt: "/message/1"))
            let request = try #require(fixture.server.requests.first)
            #expect(request.path == "/push/1?a=b")
            let fields = ["host", "ttl", "urgency", "topic", "content-encoding", "content-type", "content-length"]
            #expect(
                fields.map { request.fields[$0] } == [
                    "127.0.0.1:\(fixture.port)", "3600", "high", "chat-7", "aes128gcm", "application/octet-stream",
                    "\(request.body.count)",
                ]
            )
            let browser = fixture.browser
            let text = try await PythonReference.text(
                of: request.body,
                privateKey: browser.privateKey,
                auth: browser.auth
            )
            let start = #"{"id":"01020304-0506-0708-090a-0b0c0d0e0f10","title":"Ada","body":"See you at nine","#
            let middle = #""image":"https://example.org/a.png","sound":"chord","tag":"chat-7","badge":3,"#
            #expect(text == start + middle + #""data":{"url":"https://example.org/7"}}"#)
        }
    }

    @Test("The VAPID token is valid for PyJWT, with its audience, subject and expiry")
    func vapidToken() async throws {
        try await withWebPush { fixture in
            _ = await fixture.send()

            let field = try #require(fixture.server.requests.first?.fields["authorization"])
            let parts = field.dropFirst("vapid t=".count).components(separatedBy: ", k=")
            #expect(field.hasPrefix("vapid t="))
            #expect(parts.last == fixture.key.publicKey)
            let token = try await PythonReference.token(
                parts[0],
                key: fixture.key.signing.publicKey.pemRepresentation,
                algorithm: "ES256",
                audience: "http://127.0.0.1:\(fixture.port)"
            )
            #expect(
                token.claims == [
                    "aud": .string("http://127.0.0.1:\(fixture.port)"), "exp": 1_800_043_200,
                    "sub": "mailto:push@example.org",
                ]
            )
        }
    }

    @Test("Each origin has its own VAPID token, which is renewed before it expires")
    func tokenPerOrigin() async throws {
        try await withWebPush { fixture in
            let hosts = ["127.0.0.1", "127.0.0.1", "localhost"]
            for host in hosts { _ = await fixture.send(to: "http://\(host):\(fixture.port)/push/1") }
            fixture.clock.advance(minutes: 11 * 60)
            _ = await fixture.send()

            let tokens = fixture.server.requests.map { $0.fields["authorization"] }
            #expect(tokens.count == 4)
            #expect(tokens[0] == tokens[1])
            #expect(Set([tokens[0], tokens[2], tokens[3]]).count == 3)
        }
    }

    @Test(
        "Each status has its outcome, and redirects are not followed",
        arguments: [
            (200, PushOutcome.accepted, nil), (201, .accepted, nil), (202, .accepted, nil),
            (404, .unregistered(since: nil), "SubscriptionGone"), (410, .unregistered(since: nil), "SubscriptionGone"),
            (413, .tooLarge, "PayloadTooLarge"), (429, .targetBusy, "TooManyRequests"), (400, .refused, "BadRequest"),
            (401, .refused, "VAPIDRefused"), (403, .refused, "VAPIDRefused"), (500, .providerBusy, "HTTP500"),
            (503, .providerBusy, "HTTP503"), (302, .refused, "HTTP302"),
        ] as [(Int, PushOutcome, String?)]
    )
    func outcomes(status: Int, outcome: PushOutcome, reason: String?) async throws {
        try await withWebPush(answering: { _ in
            .init(status: status, fields: ["retry-after": "9", "location": "http://127.0.0.1:1/"])
        }) { fixture in
            let reply = await fixture.send()

            #expect(reply.outcome == outcome)
            #expect(reply.status == status)
            #expect(reply.reason == reason)
            #expect(reply.retryAfter == .seconds(9))
            // A followed redirect would bypass the address guard.
            #expect(fixture.server.requests.count == 1)
        }
    }

    @Test("Requests over TLS share one connection")
    func overTLS() async throws {
        try await withWebPush(isSecure: true) { fixture in
            for _ in 0..<3 {
                #expect(await fixture.send(to: "https://localhost:\(fixture.port)/a").outcome == .accepted)
            }
            #expect(fixture.server.connections == 1)
        }
    }

    @Test("A message is sent over HTTP/2")
    func overHTTP2() async throws {
        try await HTTP2Server.run { _ in
            [.answer(201)]
        } _: { server, port in
            var configuration = WebPushClient.Configuration()
            configuration.trustedAuthorities = TestAuthority.certificate
            configuration.addresses = AddressGuard(allowing: ["localhost:\(port)"])
            let client = try WebPushClient(key: VAPIDKey(), subject: "mailto:a@b.example", configuration: configuration)
            let reply = await client.send(.greeting, to: Browser().target("https://localhost:\(port)/a"))
            await client.shutdown()

            #expect(reply.outcome == .accepted)
            #expect(server.requests.first?.fields["content-encoding"] == "aes128gcm")
        }
    }

    @Test("A long text is cut to the limit, and data over the limit is rejected")
    func longText() async throws {
        var long = PushMessage.greeting
        long.body = String(repeating: "é", count: 4_000)
        var heavy = PushMessage.greeting
        heavy.data = ["mine": .string(String(repeating: "d", count: 3_990))]
        try await withWebPush { [long, heavy] fixture in
            #expect(await fixture.send(long).outcome == .accepted)
            #expect(await fixture.send(heavy) == PushReply(.tooLarge, reason: "PayloadTooLarge"))

            let sizes = fixture.server.requests.map(\.body.count)
            #expect(sizes.count == 1)
            #expect((4_095...4_096).contains(sizes[0]))
        }
    }

    @Test("A collapse key with a character outside base64url becomes a topic of 32 characters")
    func collapseKey() async throws {
        var message = PushMessage.greeting
        message.collapseKey = "chat.7"
        try await withWebPush { [message] fixture in
            _ = await fixture.send(message)

            let topic = try #require(fixture.server.requests.first?.fields["topic"])
            #expect(topic.utf8.count == 32)
            #expect(topic.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        }
    }

    @Test("A request without a response times out, and does not delay others")
    func requestTimeout() async throws {
        try await withWebPush(
            configure: { configuration, port in
                configuration.addresses = AddressGuard(allowing: ["127.0.0.1:\(port)"])
                configuration.requestTimeout = .seconds(10)
                configuration.connections = 2
            },
            answering: { request in
                request.path == "/silent" ? nil : .init(status: 201)
            }
        ) { fixture in
            async let silent = fixture.send(to: "http://127.0.0.1:\(fixture.port)/silent")
            #expect(await fixture.send().outcome == .accepted)
            #expect(await silent == PushReply(.providerBusy, reason: "NoResponse"))
            #expect(await fixture.send().outcome == .accepted)
        }
    }

    @Test("A malformed VAPID key or subject is rejected")
    func invalidCredentials() throws {
        for bad in ["", "AAAA", "-----BEGIN PRIVATE KEY-----", String(repeating: "A", count: 43)] {
            #expect(throws: PushCredentialsError.self) { try VAPIDKey(bad) }
        }
        #expect(throws: PushCredentialsError.self) { try WebPushClient(key: VAPIDKey(), subject: "me") }
        let key = VAPIDKey()
        #expect(try VAPIDKey(key.privateKey).publicKey == key.publicKey)
        #expect(try VAPIDKey(key.signing.pemRepresentation).publicKey == key.publicKey)
    }

    @Test("A target has the name of its push service")
    func serviceNames() {
        #expect(PushTarget.apns(token: "a", environment: .sandbox).service == "apns-sandbox")
        #expect(PushTarget.fcm(token: "a").service == "fcm")
        let target = PushTarget.web(endpoint: "https://Push.example.org/a/b", p256dh: "", auth: "")
        #expect(target.service == "https://push.example.org")
    }
}
