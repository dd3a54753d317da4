import AuthAPI
import ConversationsAPI
import Foundation
import Postgres
import struct PushAPI.DeviceChanged
import ServiceClient
import TestSupport
import Testing
import Wire

@Suite("Push registrations of devices") struct PushRegistrationTests {
    /// Sends an event about a device of Ana, as push does.
    private func publish(
        _ device: String,
        _ platform: String? = nil,
        _ token: String? = nil,
        session: String,
        at moment: Date = Date(),
        in fixture: SocketFixture
    ) async throws {
        let changed = DeviceChanged(
            applicationId: ConversationFixture.application,
            userId: "ana",
            deviceId: device,
            sessionId: session,
            platform: platform,
            pushToken: token
        )
        try await publish(changed, from: "push", at: moment, in: fixture)
    }

    private func publish<Content: EventContent>(
        _ content: Content,
        from publisher: String,
        at moment: Date = Date(),
        in fixture: SocketFixture
    ) async throws {
        let event = Event(
            id: UUID(),
            type: Content.type,
            at: moment,
            content: try WireJSON.decoder().decode(JSONValue.self, from: try WireJSON.encoder().encode(content))
        )
        let client = try fixture.fixture.service.peerClient(publisher, callee: "conversations")
        _ = try await client.post("/internal/events", event, as: [String: Bool].self)
    }

    private func login(
        _ device: String,
        session: String,
        _ platform: String? = nil,
        _ token: String? = nil,
        in fixture: SocketFixture
    ) -> String {
        fixture.fixture.auth.keys.openSession(
            of: fixture.ana.id,
            session: session,
            device: device,
            platform: platform,
            pushToken: token
        )
    }

    private func authenticate(_ token: String, in fixture: SocketFixture) async throws -> JSONValue {
        try await fixture.stranger().ask("authenticate", #"{"authToken":"\#(token)"}"#)
    }

    /// The devices of an answer as `serial status token`.
    private func devices(_ answer: JSONValue) -> Set<String> {
        Set(
            answer["owner"]["devices"].array.map { device in
                [device["serial"].string, device["status"].string, device["pushToken"].string].compactMap(\.self)
                    .joined(separator: " ")
            }
        )
    }

    @Test("A device that push registered is one of the owner's devices before it signs in")
    func unknownDevice() async throws {
        try await withSockets { fixture in
            try await publish("a1", "gcm", "one", session: "s1", in: fixture)
            try await publish("a2", "ios_production", "ab", session: "s2", in: fixture)
            try await publish("a4", session: "s4", in: fixture)

            let answer = try await authenticate(login("a3", session: "s3", in: fixture), in: fixture)

            #expect(devices(answer) == ["a1 registered one", "a2 registered ab", "a3 unregistered"])
        }
    }

    @Test("A removed registration leaves the device without a token")
    func removed() async throws {
        try await withSockets { fixture in
            let phone = login("p1", session: "s1", "gcm", "one", in: fixture)
            _ = try await authenticate(phone, in: fixture)
            try await publish("p1", "gcm", "one", session: "s1", in: fixture)
            try await publish("p1", session: "s1", in: fixture)

            let answer = try await authenticate(login("p2", session: "s2", in: fixture), in: fixture)
            #expect(devices(answer) == ["p1 unregistered", "p2 unregistered"])
            // The same session's sign-in registers it only once.
            #expect(try await authenticate(phone, in: fixture)["status"].string == "unregistered")
        }
    }

    @Test("A sign-in does not restore a registration that push has removed before")
    func removedBeforeSignIn() async throws {
        try await withSockets { fixture in
            try await publish("p1", "gcm", "one", session: "s1", in: fixture)
            try await publish("p1", session: "s1", in: fixture)

            let answer = try await authenticate(login("p1", session: "s1", "gcm", "one", in: fixture), in: fixture)
            #expect(answer["status"].string == "unregistered")
            #expect(answer["platform"].string == "gcm")
        }
    }

    @Test("An event of an earlier session does not replace what a sign-in stated")
    func earlierEvent() async throws {
        try await withSockets { fixture in
            let answer = try await authenticate(login("p1", session: "s2", "gcm", "two", in: fixture), in: fixture)
            #expect(devices(answer) == ["p1 registered two"])
            try await publish("p1", "gcm", "one", session: "s1", in: fixture)
            try await publish("p1", session: "s1", in: fixture)
            let other = login("p2", session: "s3", in: fixture)
            #expect(try await devices(authenticate(other, in: fixture)).contains("p1 registered two"))

            // Once push has confirmed the registration, every later event applies.
            try await publish("p1", "gcm", "two", session: "s2", in: fixture)
            try await publish("p1", "gcm", "three", session: "s4", in: fixture)
            #expect(try await devices(authenticate(other, in: fixture)).contains("p1 registered three"))
        }
    }

    @Test("A token of devices/updatePushToken stays until push's event about it")
    func updatedToken() async throws {
        try await withSockets { fixture in
            let phone = login("p1", session: "s1", "gcm", "one", in: fixture)
            let socket = try await fixture.stranger()
            #expect(try await socket.ask("authenticate", #"{"authToken":"\#(phone)"}"#).code == 200)
            #expect(try await socket.ask("devices/updatePushToken", #"{"pushToken":"two"}"#).code == 200)
            try await publish("p1", "gcm", "one", session: "s1", in: fixture)
            #expect(try await authenticate(phone, in: fixture)["pushToken"].string == "two")

            // Push rejected the registration.
            try await publish("p1", session: "s1", in: fixture)
            #expect(try await authenticate(phone, in: fixture)["status"].string == "unregistered")
        }
    }

    @Test("A browser is registered without a token, and is no platform of a token")
    func browser() async throws {
        try await withSockets { fixture in
            let page = login("page", session: "s1", in: fixture)
            try await publish("page", "web", session: "s1", in: fixture)
            let registered = try await authenticate(page, in: fixture)
            #expect(registered["status"].string == "registered")
            #expect(registered["platform"].string == "web")
            #expect(registered["pushToken"] == .null)

            let socket = try await fixture.stranger()
            _ = try await socket.ask("authenticate", #"{"authToken":"\#(page)"}"#)
            let answer = try await socket.ask("devices/updatePushToken", #"{"pushToken":"ab"}"#)
            #expect(answer.code == 497)
            #expect(answer["field"].string == "platform")

            try await publish("page", session: "s1", in: fixture)
            let removed = try await authenticate(page, in: fixture)
            #expect(removed["status"].string == "unregistered")
            #expect(removed["platform"] == .null)
        }
    }

    @Test("A token that Apple cannot have issued is rejected")
    func malformedToken() async throws {
        try await withSockets { fixture in
            let socket = try await fixture.socket(of: fixture.ana)
            let change = #"{"pushToken":"nothex","platform":"ios_production"}"#
            let answer = try await socket.ask("devices/updatePushToken", change)
            #expect(answer.code == 497)
            #expect(answer["codeName"].string == "malformed_token")
            #expect(answer["field"].string == "pushToken")

            // Auth of an earlier release accepted such a login, which push never registers.
            let old = login("p1", session: "s1", "ios_production", "nothex", in: fixture)
            #expect(try await authenticate(old, in: fixture)["status"].string == "unregistered")
        }
    }

    @Test("A user has at most 50 devices, however they were stored")
    func limit() async throws {
        try await withSockets { fixture in
            for number in 0..<52 {
                let moment = Date().addingTimeInterval(TimeInterval(number - 100))
                try await publish("p\(number)", "gcm", "t\(number)", session: "s\(number)", at: moment, in: fixture)
            }
            let answer = try await authenticate(login("p51", session: "s51", in: fixture), in: fixture)
            let serials = Set(answer["owner"]["devices"].array.compactMap { $0["serial"].string })
            #expect(serials == Set((2..<52).map { "p\($0)" }))
        }
    }

    @Test("An event from before a user's deletion does not restore the user's devices")
    func deletedUser() async throws {
        try await withSockets { fixture in
            let before = Date().addingTimeInterval(-60)
            try await publish("p1", "gcm", "one", session: "s1", at: before, in: fixture)
            let pool = fixture.fixture.service.database.pool
            try await publish(
                UserDeleted(applicationId: ConversationFixture.application, userId: "ana"),
                from: "auth",
                in: fixture
            )
            try await publish("p2", "gcm", "two", session: "s2", at: before, in: fixture)
            try await publish(
                UserDeleted(
                    applicationId: ConversationFixture.application,
                    userId: "ana",
                    deletionJob: DeletionJob(id: UUID(), round: 2)
                ),
                from: "auth",
                in: fixture
            )
            try await eventually {
                try await pool.first("SELECT deletion_id FROM user_deletions", as: { _ in true }) == nil
            }
            let rows = try await pool.one(
                "SELECT count(*) AS n FROM devices WHERE user_id = 'ana'",
                as: { try $0.int("n") }
            )
            #expect(rows == 0)
        }
    }
}
