import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// The requests of an FCM client.
extension SandboxFixture {
    /// Returns the form by which Google's libraries request an access token.
    func assertion(claims: [String: JSONValue] = [:], forged: Bool = false) throws -> String {
        let jwt = try Tokens.google(credentials.fcm.serviceAccount, at: clock.seconds, claims: claims, forged: forged)
        return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(jwt)"
    }

    func requestToken(_ form: String, within limit: TimeAmount = .seconds(20)) async throws -> SandboxResponse {
        let type = "application/x-www-form-urlencoded"
        return try await send(
            .POST,
            sandbox.fcmTokenURL,
            headers: ["content-type": type],
            body: Data(form.utf8),
            within: limit
        )
    }

    func accessToken() async throws -> String {
        try #require(try await requestToken(assertion()).json()["access_token"]?.text)
    }

    func send(_ message: String, with token: String, project: String = "roost-sandbox") async throws -> SandboxResponse
    {
        try await send(
            .POST,
            "\(sandbox.fcmURL)/v1/projects/\(project)/messages:send",
            headers: ["authorization": "Bearer \(token)", "content-type": "application/json"],
            body: Data(message.utf8)
        )
    }
}

@Suite("FCM of the sandbox", .timeLimit(.minutes(1))) struct FCMTests {
    private static let validMessage =
        #"{"message":{"token":"a:b_c-1","notification":{"title":"Live"},"data":{"id":"n-1"}}}"#

    @Test("A message with an access token is accepted")
    func message() async throws {
        try await withSandbox { fixture in
            let granted = try await fixture.requestToken(fixture.assertion()).json()
            let token = try #require(granted["access_token"]?.text)

            let reply = try await fixture.send(Self.validMessage, with: token)

            #expect(granted["token_type"]?.text == "Bearer")
            #expect(granted["expires_in"]?.whole == 3_599)
            #expect(reply.status == 200)
            #expect(try reply.json()["name"]?.text?.hasPrefix("projects/roost-sandbox/messages/") == true)
            let received = try #require(fixture.sandbox.received.all().first)
            #expect((received.service, received.device, received.id) == (.fcm, "a:b_c-1", "n-1"))
            #expect(NotificationView(received).title == "Live")
        }
    }

    @Test("An invalid assertion is rejected with Google's error, and Google's audience is accepted")
    func assertion() async throws {
        try await withSandbox { fixture in
            let now = Int64(fixture.clock.seconds)
            let wrong: [(form: String, error: String)] = [
                (try fixture.assertion(forged: true), "invalid_grant"),
                (try fixture.assertion(claims: ["iss": .string("nobody@example.org")]), "invalid_grant"),
                (try fixture.assertion(claims: ["aud": .string("https://example.org/token")]), "invalid_grant"),
                (try fixture.assertion(claims: ["exp": .integer(now + 7_200)]), "invalid_grant"),
                (
                    try fixture.assertion(claims: ["iat": .integer(now - 9000), "exp": .integer(now - 5400)]),
                    "invalid_grant"
                ),
                (try fixture.assertion(claims: ["scope": .string("https://example.org/mail")]), "invalid_scope"),
                ("grant_type=password", "unsupported_grant_type"),
                ("grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=a.b.c", "invalid_grant"),
            ]

            for (form, error) in wrong {
                let reply = try await fixture.requestToken(form)
                #expect(reply.status == 400)
                #expect(try reply.json()["error"]?.text == error)
                #expect(try reply.json()["error_description"]?.text?.isEmpty == false)
            }
            let googleAudience = try fixture.assertion(claims: ["aud": .string("https://oauth2.googleapis.com/token")])
            #expect(try await fixture.requestToken(googleAudience).status == 200)
        }
    }

    @Test("An access token is valid for one project and one hour")
    func accessTokenScope() async throws {
        try await withSandbox { fixture in
            let token = try await fixture.accessToken()
            let otherProject = try fixture.sandbox.credentials(of: "acme").fcm.serviceAccount.projectId

            let unknown = try await fixture.send(Self.validMessage, with: "ya29.nothing")
            let others = try await fixture.send(Self.validMessage, with: token, project: otherProject)
            let none = try await fixture.send(Self.validMessage, with: token, project: "nothing")
            fixture.clock.advance(minutes: 61)
            let late = try await fixture.send(Self.validMessage, with: token)

            let statuses = [unknown.status, others.status, none.status, late.status]
            #expect(statuses == [401, 403, 404, 401])
            #expect(try unknown.json()["error"]?["status"]?.text == "UNAUTHENTICATED")
            #expect(try none.json()["error"]?["details"] == nil)
            #expect(fixture.sandbox.received.counts.accepted == 0)
        }
    }

    @Test(
        "An invalid message is rejected with the field",
        arguments: [
            (#"{"message":{"data":{"a":"b"}}}"#, "message"),
            (#"{"message":{"token":"a","topic":"b"}}"#, "message"),
            (#"{"message":{"token":"a b"}}"#, "message.token"),
            (#"{"message":{"token":"a","data":{"n":1}}}"#, "message.data[n]"),
            (#"{"message":{"token":"a","data":{"from":"x"}}}"#, "message.data"),
            (#"{"message":{"token":"a","data":{"google.x":"x"}}}"#, "message.data"),
            (#"{"message":{"token":"a","data":{"gcm.x":"x"}}}"#, "message.data"),
            (#"{"message":{"token":"a","data":{"message_type":"x"}}}"#, "message.data"),
            (#"{"message":{"token":"a","title":"x"}}"#, "message"),
            (#"{"message":{"token":"a","notification":{"sound":"x"}}}"#, "message.notification"),
            (#"{"message":{"token":"a","android":{"priority":"LOUD"}}}"#, "message.android.priority"),
            (#"{"message":{"token":"a","android":{"ttl":"1h"}}}"#, "message.android.ttl"),
            (#"{"message":{"token":"a","android":{"ttl":"2419201s"}}}"#, "message.android.ttl"),
            (
                #"{"message":{"token":"a","apns":{"headers":{"apns-priority":"11"}}}}"#,
                "message.apns.headers[apns-priority]"
            ),
            (#"{"message":{"token":"a","webpush":{"data":{"a":1}}}}"#, "message.webpush.data[a]"),
            (#"{"token":"a"}"#, ""), (#"{"message":"#, ""),
        ]
    )
    func invalidMessage(message: String, field: String) async throws {
        try await withSandbox { fixture in
            let reply = try await fixture.send(message, with: fixture.accessToken())

            #expect(reply.status == 400)
            let error = try reply.json()["error"]
            #expect(error?["status"]?.text == "INVALID_ARGUMENT")
            guard case .array(let details)? = error?["details"] else {
                Issue.record("no details: \(reply.text)")
                return
            }
            let violations = details.compactMap { $0["fieldViolations"]?[0]?["field"]?.text }
            #expect(violations == [field])
        }
    }

    @Test("The data of a message may have 4,096 bytes")
    func messageSize() async throws {
        try await withSandbox { fixture in
            let token = try await fixture.accessToken()
            func send(_ size: Int) async throws -> SandboxResponse {
                let text = String(repeating: "x", count: size - 4)
                return try await fixture.send(#"{"message":{"token":"a","data":{"text":"\#(text)"}}}"#, with: token)
            }

            #expect(try await send(4_096).status == 200)
            #expect(try await send(4_097).status == 400)
        }
    }

    @Test("A message with validate_only is not delivered")
    func validateOnly() async throws {
        try await withSandbox { fixture in
            let message = #"{"validate_only":true,"message":{"token":"a","android":{"priority":"high","ttl":"3.5s"}}}"#

            let reply = try await fixture.send(message, with: fixture.accessToken())

            #expect(reply.status == 200)
            #expect(fixture.sandbox.received.counts.accepted == 0)
        }
    }

    @Test(
        "A scripted error has the status and details of FCM",
        arguments: [
            ("UNREGISTERED", 404, "NOT_FOUND"), ("INVALID_ARGUMENT", 400, "INVALID_ARGUMENT"),
            ("SENDER_ID_MISMATCH", 403, "PERMISSION_DENIED"), ("QUOTA_EXCEEDED", 429, "RESOURCE_EXHAUSTED"),
            ("UNAVAILABLE", 503, "UNAVAILABLE"), ("INTERNAL", 500, "INTERNAL"),
            ("THIRD_PARTY_AUTH_ERROR", 401, "UNAUTHENTICATED"),
        ]
    )
    func errorDetails(code: String, status: Int, name: String) async throws {
        try await withSandbox { fixture in
            let token = try await fixture.accessToken()
            try fixture.sandbox.script.add(ScriptRule(service: .fcm, token: "a:b_c-1", reason: code, retryAfter: 9))

            let reply = try await fixture.send(Self.validMessage, with: token)

            let error = try reply.json()["error"]
            #expect(reply.status == status)
            #expect(error?["code"]?.whole == Int64(status))
            #expect(error?["status"]?.text == name)
            #expect(error?["details"]?[0]?["@type"]?.text == "type.googleapis.com/google.firebase.fcm.v1.FcmError")
            #expect(error?["details"]?[0]?["errorCode"]?.text == code)
            #expect(reply.headers["retry-after"] == ["9"])
        }
    }

    @Test(
        "A scripted error of other Google services has no details",
        arguments: [(404, "NOT_FOUND"), (401, "UNAUTHENTICATED")]
    )
    func googleErrors(status: Int, reason: String) async throws {
        try await withSandbox { fixture in
            let token = try await fixture.accessToken()
            try fixture.sandbox.script.add(ScriptRule(service: .fcm, reason: reason))

            let reply = try await fixture.send(Self.validMessage, with: token)

            #expect(reply.status == status)
            #expect(try reply.json()["error"]?["status"]?.text == reason)
            #expect(try reply.json()["error"]?["details"] == nil)
        }
    }
}
