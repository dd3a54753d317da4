import Foundation
import PushProviders
import Testing

@Suite("FCM") struct FCMTests {
    @Test("The request has every field of the message")
    func requestFormat() async throws {
        var message = PushMessage.greeting
        (message.badge, message.sound, message.collapseKey) = (3, "chord", "chat-7")
        message.imageURL = "https://example.org/a.png"
        message.expires = Date(timeIntervalSince1970: 1_800_003_600)
        message.data = ["url": .string("https://example.org/\"7\""), "seq": try #require(EncodedJSON("[1, 2]"))]
        try await withFCM { [message] fixture in
            let reply = await fixture.send(message)

            #expect(reply == PushReply(.accepted, status: 200, receipt: "projects/roost-test/messages/1"))
            let request = try #require(fixture.sent.first)
            #expect(request.path == "/fcm/v1/projects/roost-test/messages:send")
            #expect(request.fields["authorization"] == "Bearer access-1")
            #expect(request.fields["content-type"] == "application/json")
            let expected = #"""
                {"message": {
                    "token": "device:1",
                    "notification": {
                        "title": "Ada", "body": "See you at nine", "image": "https://example.org/a.png"
                    },
                    "data": {
                        "id": "01020304-0506-0708-090a-0b0c0d0e0f10", "seq": "[1, 2]",
                        "url": "https://example.org/\"7\""
                    },
                    "android": {
                        "collapse_key": "chat-7", "priority": "HIGH", "ttl": "3600s",
                        "notification": {"sound": "chord", "notification_count": 3, "tag": "chat-7"}
                    },
                    "apns": {
                        "headers": {
                            "apns-push-type": "alert", "apns-priority": "10", "apns-expiration": "1800003600",
                            "apns-collapse-id": "chat-7"
                        },
                        "payload": {"aps": {"badge": 3, "sound": "chord.caf", "mutable-content": 1}},
                        "fcm_options": {"image": "https://example.org/a.png"}
                    }
                }}
                """#
            #expect(try Self.object(request.text) == Self.object(expected))
        }
    }

    private static func object(_ json: String) throws -> NSDictionary? {
        try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary
    }

    @Test("Android has its own title, which no other platform shows")
    func androidTitle() async throws {
        var message = PushMessage.greeting
        (message.title, message.androidTitle) = ("Walks", "From the \"hills\"")
        try await withFCM { [message] fixture in
            _ = await fixture.send(message)

            let request = try #require(fixture.sent.first)
            let sent = try #require(try Self.object(request.text)?["message"] as? NSDictionary)
            let common = try #require(sent["notification"] as? NSDictionary)
            #expect(common["title"] as? String == "Walks")
            let android = try #require((sent["android"] as? NSDictionary)?["notification"] as? NSDictionary)
            #expect(android["title"] as? String == "From the \"hills\"")
            let apple = try #require(sent["apns"] as? NSDictionary)
            #expect(!"\(apple)".contains("hills"))
        }
    }

    @Test("A background message has no text, sound or badge")
    func backgroundMessage() async throws {
        var message = PushMessage.greeting
        (message.kind, message.sound, message.badge) = (.background, "chord", 1)
        message.data = ["id": .string("mine")]
        try await withFCM { [message] fixture in
            _ = await fixture.send(message)

            let expected = #"""
                {"message": {
                    "token": "device:1", "data": {"id": "mine"}, "android": {"priority": "NORMAL"},
                    "apns": {
                        "headers": {"apns-push-type": "background", "apns-priority": "5"},
                        "payload": {"aps": {"content-available": 1}}
                    }
                }}
                """#
            let request = try #require(fixture.sent.first)
            #expect(try Self.object(request.text) == Self.object(expected))
        }
    }

    @Test("The token request has an assertion that PyJWT accepts")
    func assertion() async throws {
        try await withFCM { fixture in
            _ = await fixture.send()

            let form = try #require(fixture.assertions.first)
            #expect(form.fields["content-type"] == "application/x-www-form-urlencoded")
            let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
            try #require(form.text.hasPrefix(start))
            let token = try await PythonReference.token(
                form.text.dropFirst(start.count),
                key: try #require(TestAuthority.google).publicKey,
                algorithm: "RS256",
                audience: "https://oauth2.googleapis.com/token"
            )
            #expect(token.header["kid"] == "key-1")
            #expect(
                token.claims == [
                    "iss": "push@roost-test.iam.example", "aud": "https://oauth2.googleapis.com/token",
                    "scope": "https://www.googleapis.com/auth/firebase.messaging", "iat": 1_800_000_000,
                    "exp": 1_800_003_600,
                ]
            )
        }
    }

    private static let deviceQuota = #"{"violations":[{"subject":"device:x","description":"Device message rate"}]}"#
    private static let badField = #"{"fieldViolations":[{"field":"message.token","description":"no"}]}"#

    @Test(
        "Each error has its outcome, and only a rejected access token is retried",
        arguments: [
            (
                404, String.problem("NOT_FOUND", code: "UNREGISTERED"), PushOutcome.unregistered(since: nil),
                "UNREGISTERED"
            ),
            (404, .problem("NOT_FOUND"), .misconfigured, "NOT_FOUND"), (404, "<html>", .misconfigured, nil),
            (400, .problem("INVALID_ARGUMENT", code: "INVALID_ARGUMENT"), .refused, "INVALID_ARGUMENT"),
            (
                400, .problem("INVALID_ARGUMENT", code: "INVALID_ARGUMENT", details: badField), .refused,
                "INVALID_ARGUMENT message.token"
            ),
            (400, .problem("INVALID_ARGUMENT", message: "Android message is too big"), .tooLarge, "INVALID_ARGUMENT"),
            (403, .problem("PERMISSION_DENIED", code: "SENDER_ID_MISMATCH"), .wrongApp, "SENDER_ID_MISMATCH"),
            (403, .problem("PERMISSION_DENIED"), .misconfigured, "PERMISSION_DENIED"),
            (429, .problem("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED"), .providerBusy, "QUOTA_EXCEEDED"),
            (
                429, .problem("RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", details: deviceQuota), .targetBusy,
                "QUOTA_EXCEEDED"
            ),
            (503, .problem("UNAVAILABLE", code: "UNAVAILABLE"), .providerBusy, "UNAVAILABLE"),
            (500, .problem("INTERNAL", code: "INTERNAL"), .providerBusy, "INTERNAL"),
            (
                401, .problem("UNAUTHENTICATED", code: "THIRD_PARTY_AUTH_ERROR"), .misconfigured,
                "THIRD_PARTY_AUTH_ERROR"
            ),
            (401, .problem("UNAUTHENTICATED"), .misconfigured, "UNAUTHENTICATED"), (413, "", .tooLarge, nil),
            (502, "", .providerBusy, nil), (301, "", .misconfigured, nil),
        ] as [(Int, String, PushOutcome, String?)]
    )
    func outcomes(status: Int, body: String, outcome: PushOutcome, reason: String?) async throws {
        try await withFCM(answering: { _ in
            .init(status: status, body: body)
        }) { fixture in
            let reply = await fixture.send()

            #expect(reply.outcome == outcome)
            #expect(reply.status == status)
            #expect(reply.reason == reason)
            #expect(reply.retryAfter == (status == 429 ? .seconds(60) : nil))
            // Only a rejected access token is replaced and retried.
            #expect(fixture.sent.count == (reason == "UNAUTHENTICATED" ? 2 : 1))
        }
    }

    @Test("The Retry-After header is reported")
    func retryAfter() async throws {
        try await withFCM(answering: { _ in
            .init(status: 503, fields: ["retry-after": "7"])
        }) { fixture in
            #expect(await fixture.send().retryAfter == .seconds(7))
        }
    }

    @Test(
        "A message with a reserved key is rejected without a request",
        arguments: ["from", "message_type", "google.x", "gcm.x"]
    )
    func reservedNames(name: String) async throws {
        var message = PushMessage.greeting
        message.data = [name: .string("mine")]
        try await withFCM { [message] fixture in
            #expect(await fixture.send(message) == PushReply(.refused, reason: "ReservedKey"))
            #expect(fixture.server.requests.isEmpty)
        }
    }

    @Test("A long text is cut to the limit, and data over the limit is rejected")
    func longText() async throws {
        var long = PushMessage.greeting
        long.body = String(repeating: "界", count: 5_000)
        var heavy = PushMessage.greeting
        heavy.data = ["mine": .string(String(repeating: "d", count: 4_090))]
        try await withFCM { [long, heavy] fixture in
            #expect(await fixture.send(long).outcome == .accepted)
            #expect(await fixture.send(heavy) == PushReply(.tooLarge, reason: "PayloadTooLarge"))

            let request = try #require(fixture.sent.first)
            let message = try #require(Self.object(request.text)?["message"] as? NSDictionary)
            let counted = [message["notification"], message["data"]].compactMap { $0 as? [String: String] }
            #expect(counted[0]["body"]?.hasSuffix("界…") == true)
            let size = try counted.map { try JSONEncoder().encode($0).count }.reduce(0, +)
            #expect((4_090...4_096).contains(size))
        }
    }
}
