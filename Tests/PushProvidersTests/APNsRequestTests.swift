import Foundation
import PushProviders
import Testing

@Suite("APNs requests") struct APNsRequestTests {
    @Test("The headers and the payload have every field of the message")
    func requestFormat() async throws {
        var message = PushMessage.greeting
        message.badge = 3
        message.sound = "chord"
        message.imageURL = "https://example.org/a.png"
        message.collapseKey = "chat-7"
        message.expires = Date(timeIntervalSince1970: 1_800_003_600)
        message.data = [
            "url": .string("https://example.org/7"), "seq": try #require(EncodedJSON("12345678901234567890")),
        ]
        try await withAPNs { [message] fixture in
            let reply = await fixture.send(message)

            #expect(reply.outcome == .accepted)
            #expect(reply.status == 200)
            #expect(reply.receipt == "01020304-0506-0708-090a-0b0c0d0e0f10")
            let request = try #require(fixture.server.requests.first)
            var fields = request.fields
            let authorization = try #require(fields["authorization"])
            fields["authorization"] = nil
            #expect(authorization.hasPrefix("bearer "))
            #expect(
                fields == [
                    ":method": "POST", ":scheme": "https", ":authority": "localhost:\(fixture.port)",
                    ":path": "/3/device/\(APNsFixture.token)", "apns-topic": "org.example.app",
                    "apns-push-type": "alert", "apns-priority": "10", "apns-collapse-id": "chat-7",
                    "apns-expiration": "1800003600", "apns-id": "01020304-0506-0708-090a-0b0c0d0e0f10",
                ]
            )
            let alert = #"{"alert":{"title":"Ada","body":"See you at nine"},"#
            let aps = alert + #""badge":3,"sound":"chord.caf","mutable-content":1}"#
            let others =
                #""image":"https://example.org/a.png","seq":12345678901234567890,"url":"https://example.org/7""#
            #expect(String(decoding: request.body, as: UTF8.self) == "{\"aps\":\(aps),\(others)}")
        }
    }

    @Test("The provider token is valid for PyJWT, with its key ID, issuer and time")
    func providerToken() async throws {
        try await withAPNs { fixture in
            _ = await fixture.send()

            let value = try #require(fixture.server.requests.first?.fields["authorization"]).dropFirst("bearer ".count)
            let key = TestAuthority.apple.publicKey
            let token = try await PythonReference.token(value, key: key, algorithm: "ES256")
            #expect(token.header["kid"] == "ABC123DEFG")
            #expect(token.claims == ["iss": "DEF123GHIJ", "iat": 1_800_000_000])
        }
    }

    @Test(
        "Kind and priority determine the push type, priority and topic",
        arguments: [
            (PushMessage.Kind.alert, PushMessage.Priority.high, "alert", "10", "org.example.app"),
            (.alert, .normal, "alert", "5", "org.example.app"), (.alert, .low, "alert", "1", "org.example.app"),
            (.background, .high, "background", "5", "org.example.app"),
            (.background, .low, "background", "5", "org.example.app"),
            (.voip, .low, "voip", "10", "org.example.app.voip"),
        ]
    )
    func kindAndPriority(
        kind: PushMessage.Kind,
        priority: PushMessage.Priority,
        type: String,
        level: String,
        topic: String
    ) async throws {
        var message = PushMessage.greeting
        (message.kind, message.priority) = (kind, priority)
        try await withAPNs { [message] fixture in
            #expect(await fixture.send(message).outcome == .accepted)

            let fields = try #require(fixture.server.requests.first).fields
            #expect(fields["apns-push-type"] == type)
            #expect(fields["apns-priority"] == level)
            #expect(fields["apns-topic"] == topic)
            #expect(fields["apns-expiration"] == nil)
        }
    }

    @Test("A background notification has no text, sound or badge")
    func backgroundNotification() async throws {
        var message = PushMessage.greeting
        (message.kind, message.sound, message.badge) = (.background, "chord", 1)
        try await withAPNs { [message] fixture in
            _ = await fixture.send(message)

            let body = String(decoding: try #require(fixture.server.requests.first).body, as: UTF8.self)
            #expect(body == #"{"aps":{"content-available":1}}"#)
        }
    }

    @Test("A message that has expired is sent with the expiration 0")
    func expired() async throws {
        var message = PushMessage.greeting
        message.expires = Date(timeIntervalSince1970: 1_700_000_000)
        try await withAPNs { [message] fixture in
            _ = await fixture.send(message)

            #expect(fixture.server.requests.first?.fields["apns-expiration"] == "0")
        }
    }

    @Test("A long collapse key becomes the same short one each time")
    func longCollapseKey() async throws {
        var message = PushMessage.greeting
        message.collapseKey = String(repeating: "käse", count: 20)
        try await withAPNs { [message] fixture in
            _ = await fixture.send(message)
            _ = await fixture.send(message)

            let names = fixture.server.requests.compactMap { $0.fields["apns-collapse-id"] }
            #expect(names.count == 2)
            #expect(names.allSatisfy { $0.utf8.count == 43 && $0 == names[0] })
        }
    }

    @Test("A sandbox token is sent to the sandbox URL")
    func sandboxHost() async throws {
        try await withAPNs { fixture in
            let reply = await fixture.client.send(.greeting, to: .apns(token: "ab12", environment: .sandbox))

            #expect(reply.outcome == .accepted)
            #expect(fixture.server.requests.first?.fields[":authority"] == "127.0.0.1:\(fixture.port)")
        }
    }

    @Test(
        "A malformed token is rejected without a request",
        arguments: ["", "xyz", "a1/../b2", "a1 b2", String(repeating: "a", count: 201)]
    )
    func malformedToken(token: String) async throws {
        try await withAPNs { fixture in
            let reply = await fixture.send(to: token)

            #expect(reply == PushReply(.wrongEnvironment, reason: "BadDeviceToken"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test("A reserved key or another provider's target is rejected without a request")
    func reservedNames() async throws {
        var message = PushMessage.greeting
        message.data = ["aps": .string("mine")]
        try await withAPNs { [message] fixture in
            #expect(await fixture.send(message) == PushReply(.refused, reason: "ReservedKey"))
            #expect(await fixture.client.send(.greeting, to: .fcm(token: "x")).reason == "WrongTarget")
            #expect(fixture.server.requests.isEmpty)
        }
    }
}
