import AuthAPI
import ConversationsAPI
import Credentials
import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import PushAPI
import ServiceClient
import TestSupport
import Testing
import Wire

/// Notifications from the sender to the phone, through the real executables.
extension SuiteTests {
    @Suite("Push across services") struct PushTests {
        private static let phone = String(repeating: "a1", count: 32)
        private static let tablet = String(repeating: "b2", count: 32)

        @Test("An offline user is notified on all devices, unless push is off for the conversation")
        func offlineUser() async throws {
            try await FakePhones.with { suite, phones in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                try await bo.preferences.register(
                    DeviceDraft(platform: "ios_production", token: "<\(Self.phone)>", deviceId: "phone")
                )
                try await bo.preferences.register(
                    DeviceDraft(platform: "gcm", token: "firebase:bo", deviceId: "android")
                )
                let made = try await ana.conversations.create(
                    ConversationDraft(label: "Sunday walk", members: [bo.signIn.userId])
                )

                let draft = MessageDraft(data: "Shall we?", pushPayload: .object(["extra": .string("value")]))
                let sent = try await ana.conversations.send(draft, to: made.token)

                let notifications = try await phones.waitForNotifications(2)
                #expect(Set(notifications.map(\.service)) == ["apns", "fcm"])
                #expect(Set(notifications.map(\.device)) == [Self.phone, "firebase:bo"])
                #expect(
                    notifications.allSatisfy {
                        $0.title == "Sunday walk" && $0.body == "ana: Shall we?" && $0.badge == 1
                    }
                )
                let apple = try #require(notifications.first { $0.service == "apns" }).payload
                #expect(apple["conversation"].string == made.token)
                #expect(apple["seq"] == .integer(sent.seq))
                #expect(apple["extra"].string == "value")

                // A member who has turned push off for the conversation is not notified.
                let cy = try await suite.person("cy")
                try await cy.preferences.register(DeviceDraft(platform: "ios_production", token: Self.tablet))
                try await cy.conversations.join(made.token)
                try await bo.conversations.setPush(false, in: made.token)
                _ = try await ana.conversations.send(MessageDraft(data: "Hello?"), to: made.token)
                // Push decides for all members at once, so Bo's decision is made when Cy's notification arrives.
                #expect(try await phones.waitForNotifications(3).last?.device == Self.tablet)
                try await bo.conversations.setPush(true, in: made.token)
                _ = try await ana.conversations.send(MessageDraft(data: "At ten."), to: made.token)
                let after = try await phones.waitForNotifications(6).dropFirst(3)
                #expect(Set(after.map(\.device)) == [Self.phone, "firebase:bo", Self.tablet])
                #expect(after.allSatisfy { $0.body == "ana: At ten." && $0.badge == 2 })
            }
        }

        @Test("A connected device is not notified, and the user's other device is")
        func connectedDevice() async throws {
            try await FakePhones.with { suite, phones in
                let ana = try await suite.person("ana")
                let bo = try await suite.person("bo")
                // One device belongs to the session of the socket, and one to another sign-in.
                try await bo.preferences.register(DeviceDraft(platform: "ios_production", token: Self.phone))
                let other = try await suite.signInAgain("bo")
                try await other.preferences.register(DeviceDraft(platform: "ios_production", token: Self.tablet))
                let made = try await ana.conversations.create(
                    ConversationDraft(label: "Walk", members: [bo.signIn.userId])
                )
                let socket = try await Self.socket(of: bo, at: suite)
                let watching = try await Self.socket(of: ana, at: suite)
                try await eventually(within: .seconds(60), "known to be connected") {
                    // Presence is read from the same record.
                    let detail = try await watching.ask("chats/detail", #"{"chatId":\#(made.id)}"#)
                    return detail["presences"].array.contains {
                        $0["userId"].string == bo.signIn.userId && $0["status"].string == "online"
                    }
                }

                _ = try await ana.conversations.send(MessageDraft(data: "Here?"), to: made.token)
                #expect(try await socket.event("message")["data"].string == "Here?")
                #expect(try await phones.waitForNotifications(1).map(\.device) == [Self.tablet])

                // The packet closes the socket's session.
                try await socket.send("1")
                // The device counts as connected for a moment after that.
                try await eventually(within: .seconds(60), "away") {
                    _ = try await ana.conversations.send(MessageDraft(data: "And now?"), to: made.token)
                    return try await phones.notifications().contains { $0.device == Self.phone }
                }
            }
        }

        @Test("The cooldown of a favourite withholds the next notification, and the log has the reason")
        func cooldown() async throws {
            try await FakePhones.with { suite, phones in
                let ana = try await suite.person("ana")
                try await ana.preferences.register(DeviceDraft(platform: "ios_production", token: Self.phone))
                try await ana.preferences.subscribe(
                    to: "SlowTV",
                    SubscriptionChanges(cooldown: true, sound: "whistle")
                )
                let social = try suite.peerClient("social", of: "push", port: suite.pushPort)
                func goesLive(_ stream: String) async throws {
                    let content = BroadcastLive(
                        streamId: stream,
                        broadcaster: "slowtv",
                        title: "A train through the fells",
                        url: "https://example.com/\(stream)",
                        startedAt: Date()
                    )
                    let event = Event(
                        id: UUID(),
                        type: BroadcastLive.type,
                        at: Date(),
                        content: try WireJSON.decode(JSONValue.self, from: WireJSON.encoder().encode(content))
                    )
                    _ = try await social.send(.post, "/internal/events", body: try WireJSON.encoder().encode(event))
                }

                try await goesLive("stream-1")
                let notifications = try await phones.waitForNotifications(1)
                #expect(notifications[0].sound == "whistle.caf")
                #expect(notifications[0].payload["url"].string == "https://example.com/stream-1")
                // The cooldown starts when the sending is recorded.
                try await eventually(within: .seconds(60), "recorded as sent") {
                    try await Self.log(of: ana).contains { $0.outcome == .sent }
                }

                try await goesLive("stream-2")
                try await eventually(within: .seconds(60), "withheld with the reason") {
                    try await Self.log(of: ana).contains { $0.outcome == .withheld && $0.reason == "cooldown" }
                }
                #expect(try await phones.notifications().count == 1)
            }
        }

        @Test("An application sends with its own provider credentials until its key is revoked")
        func applicationCredentials() async throws {
            try await FakePhones.with { suite, phones in
                let admin = try await ApplicationTests.administrator(of: suite)
                let acme = try await ApplicationTests.application("Acme", by: admin)
                let own = try await phones.credentials(of: "acme")
                let setup = JSONValue.object([
                    "apns": .object([
                        "key": own.apns["key"], "keyId": own.apns["keyId"], "teamId": own.apns["teamId"],
                        "topic": own.apns["topic"],
                    ]),
                    "fcm": .object(["serviceAccount": own.fcm["serviceAccount"]]),
                ])
                let push = "/applications/\(acme.applicationId)/push"
                let response = try await admin.send(.put, push, body: try setup.compact())
                #expect(!String(decoding: response.body, as: UTF8.self).contains("PRIVATE"))
                try await AccountServer.with(acme, of: suite) { accounts in
                    let ada = try await accounts.signIn("ada")
                    let preferences = PreferencesClient(suite.gateway(jwt: ada.session))
                    try await preferences.register(DeviceDraft(platform: "ios_production", token: Self.phone))
                    let server = try Self.server(of: acme, at: suite)
                    let draft = NotificationDraft(
                        to: .init(userIds: ["ada", "nobody"]),
                        title: "Acme",
                        body: "Your parcel is here"
                    )
                    let body = try WireJSON.encoder().encode(draft)

                    let taken = try await server.send(.post, "/push/notifications", body: body)
                    #expect(taken.status == 202)
                    let notifications = try await phones.waitForNotifications(1)
                    #expect(notifications[0].body == "Your parcel is here")
                    #expect(notifications[0].device == Self.phone)
                    #expect(notifications[0].headers["apns-topic"] == own.apns["topic"].string)

                    // A user may not send notifications, and the server may not act as a user.
                    let person = suite.gateway(jwt: ada.session)
                    await Self.isRefused { try await person.send(.post, "/push/notifications", body: body) }
                    await Self.isRefused { try await server.send(.get, "/conversations") }

                    let key = "/applications/\(acme.applicationId)/keys/\(acme.encryptionKeyId)"
                    let _: Done = try await admin.delete(key)
                    let revoked = ContinuousClock.now
                    try await eventually(within: SuiteTests.promptLimit - (.now - revoked), "refused") {
                        do {
                            _ = try await server.send(.post, "/push/notifications", body: body)
                            return false
                        } catch let error as APIError {
                            return error.kind == .forbidden
                        }
                    }
                }
            }
        }

        private static func socket(of person: Person, at suite: RunningSuite) async throws -> SocketClient {
            let socket = try await SocketClient(
                port: suite.gatewayPort,
                auth: #"{"token":"\#(person.signIn.jwt)"}"#
            )
            _ = try await socket.event("authenticate")
            return socket
        }

        private static func isRefused(_ body: () async throws -> ServiceResponse) async {
            let refusal = await #expect(throws: APIError.self) { _ = try await body() }
            #expect(refusal?.kind == .forbidden)
        }

        private static func log(of person: Person) async throws -> [NotificationRecord] {
            try await person.service.get("/notifications/log", as: Page<NotificationRecord>.self).items
        }

        /// Returns a client with a token that the application's server has signed for itself.
        private static func server(of application: NewApplication, at suite: RunningSuite) throws -> ServiceClient {
            let key = try _RSA.Signing.PrivateKey(pemRepresentation: application.encryptionKey)
            let now = Int64(Date().timeIntervalSince1970)
            let header = JSONValue.object(["alg": .string("RS256"), "kid": .string(application.encryptionKeyId)])
            let claims = JSONValue.object([
                "iss": .string(application.applicationId), "sub": .string("__server__"), "iat": .integer(now),
                "exp": .integer(now + 300),
            ])
            let input = try [header, claims].map { Base64URL.encode(try $0.compact()) }.joined(separator: ".")
            let signature = try key.signature(for: SHA256.hash(data: Data(input.utf8)), padding: .insecurePKCS1v1_5)
            return suite.gateway(jwt: "\(input).\(Base64URL.encode(signature.rawRepresentation))")
        }
    }
}

extension RunningSuite {
    /// Returns a client of a service with another service's key, without the gateway.
    func peerClient(_ name: String, of callee: String, port: Int) throws -> ServiceClient {
        let secrets = try String(contentsOfFile: "\(directory)/.roost/secrets.env", encoding: .utf8)
        let setting = "\(ServiceKeys.setting(of: name))="
        let line = try #require(secrets.split(separator: "\n").first { $0.hasPrefix(setting) })
        let key = String(line.dropFirst(setting.count))
        let publicKeys = try ServiceKeys.publicKeys(of: [name: key])
        let tokens = ServiceTokens(keys: try ServiceKeys(privateKeys: key, publicKeys: publicKeys, name: name))
        return ServiceClient(
            callee: callee,
            transport: HTTPTransport(baseURLs: ["http://127.0.0.1:\(port)"]),
            retry: .never,
            authorization: { "Bearer \(try tokens.token(for: callee))" }
        )
    }
}
