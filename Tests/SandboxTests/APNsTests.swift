import Foundation
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// The rules of APNs, tested with an HTTP/2 client.
@Suite("APNs of the sandbox", .timeLimit(.minutes(1))) struct APNsTests {
    @Test("A valid notification is accepted and shown with its headers")
    func validNotification() async throws {
        try await withSandbox { fixture in
            let id = UUID().uuidString.lowercased()
            let headers = [
                "apns-id": id, "apns-priority": "5", "apns-expiration": "0", "apns-collapse-id": "c",
                "apns-push-type": "alert",
            ]

            let reply = try await fixture.push(headers: headers)

            #expect(reply.status == 200)
            #expect(reply.headers["apns-id"] == [id])
            #expect(reply.body.isEmpty)
            let received = try #require(fixture.sandbox.received.all().first)
            #expect(
                (received.number, received.device, received.id, received.copies) == (1, SandboxFixture.device, id, 1)
            )
            #expect(received.environment == .production)
            #expect(String(decoding: received.payload, as: UTF8.self) == SandboxFixture.alert)
            let view = NotificationView(received)
            #expect((view.title, view.body, view.kind) == ("Live", "Ana plays", "alert"))
            #expect(view.headers["apns-collapse-id"] == "c")
            #expect(view.headers["authorization"] == nil)
        }
    }

    @Test("A notification without an ID receives one, and the sandbox environment adds a unique ID")
    func generatedID() async throws {
        try await withSandbox { fixture in
            let first = try await fixture.push()
            let second = try await fixture.push(at: fixture.sandbox.apnsSandboxURL)

            #expect(UUID(uuidString: first.headers["apns-id"].first ?? "") != nil)
            #expect(first.headers["apns-unique-id"].isEmpty)
            #expect(!second.headers["apns-unique-id"].isEmpty)
            #expect(fixture.sandbox.received.counts.duplicates == 0)
        }
    }

    struct InvalidRequest: Sendable, CustomTestStringConvertible {
        var name: String? = nil
        var value: String? = nil
        var device = SandboxFixture.device
        var payload = SandboxFixture.alert
        let status: Int
        let reason: String

        var testDescription: String { "\(reason) \(name ?? "") \(value?.prefix(20) ?? "")" }
    }

    @Test(
        "An invalid request has the status and reason of APNs, and its connection stays open",
        arguments: [
            InvalidRequest(name: "apns-topic", status: 400, reason: "MissingTopic"),
            InvalidRequest(name: "apns-topic", value: "org.example.other", status: 400, reason: "TopicDisallowed"),
            InvalidRequest(name: "apns-topic", value: "org.example.roost.voip", status: 400, reason: "TopicDisallowed"),
            InvalidRequest(
                name: "apns-topic",
                value: String(repeating: "a", count: 300),
                status: 400,
                reason: "BadTopic"
            ),
            InvalidRequest(name: "apns-push-type", value: "loud", status: 400, reason: "InvalidPushType"),
            InvalidRequest(name: "apns-push-type", value: "voip", status: 400, reason: "TopicDisallowed"),
            InvalidRequest(name: "apns-push-type", value: "background", status: 400, reason: "BadPriority"),
            InvalidRequest(name: "apns-priority", value: "7", status: 400, reason: "BadPriority"),
            InvalidRequest(name: "apns-priority", value: "high", status: 400, reason: "BadPriority"),
            InvalidRequest(name: "apns-expiration", value: "-1", status: 400, reason: "BadExpirationDate"),
            InvalidRequest(name: "apns-expiration", value: "tomorrow", status: 400, reason: "BadExpirationDate"),
            InvalidRequest(
                name: "apns-collapse-id",
                value: String(repeating: "c", count: 65),
                status: 400,
                reason: "BadCollapseId"
            ),
            InvalidRequest(name: "apns-id", value: "1", status: 400, reason: "BadMessageId"),
            InvalidRequest(name: "authorization", status: 403, reason: "MissingProviderToken"),
            InvalidRequest(name: "authorization", value: "Basic YTpi", status: 403, reason: "MissingProviderToken"),
            InvalidRequest(name: "authorization", value: "bearer a.b.c", status: 403, reason: "InvalidProviderToken"),
            InvalidRequest(device: "", status: 400, reason: "MissingDeviceToken"),
            InvalidRequest(device: "xy", status: 400, reason: "BadDeviceToken"),
            InvalidRequest(device: String(repeating: "z", count: 64), status: 400, reason: "BadDeviceToken"),
            InvalidRequest(device: String(repeating: "a", count: 65), status: 400, reason: "BadDeviceToken"),
            InvalidRequest(device: "a/b", status: 404, reason: "BadPath"),
            InvalidRequest(payload: "", status: 400, reason: "PayloadEmpty"),
            InvalidRequest(payload: "{", status: 400, reason: "MalformedPayload"),
            InvalidRequest(payload: "[]", status: 400, reason: "MalformedPayload"),
        ]
    )
    func invalidRequest(_ invalid: InvalidRequest) async throws {
        try await withSandbox { fixture in
            let change: [String: String?] = invalid.name.map { [$0: invalid.value] } ?? [:]

            let reply = try await fixture.push(to: invalid.device, headers: change, payload: invalid.payload)

            #expect(reply.status == invalid.status)
            #expect(try reply.reason == invalid.reason)
            #expect(!reply.headers["apns-id"].isEmpty)
            #expect(fixture.sandbox.received.counts.accepted == 0)
            #expect(fixture.sandbox.received.counts.refused == ["apns \(invalid.status) \(invalid.reason)": 1])
            // The connection stays open.
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test("A wrong path, a wrong method and a repeated header are rejected")
    func malformedRequest() async throws {
        try await withSandbox { fixture in
            let url = "\(fixture.sandbox.apnsURL)/3/device/\(SandboxFixture.device)"
            var twice = try fixture.validHeaders()
            twice.add(name: "apns-topic", value: fixture.credentials.apns.topic)

            let get = try await fixture.send(.GET, url, headers: fixture.validHeaders())
            let elsewhere = try await fixture.send(
                .POST,
                fixture.sandbox.apnsURL + "/2/x",
                headers: fixture.validHeaders()
            )
            let doubled = try await fixture.send(.POST, url, headers: twice, body: Data(SandboxFixture.alert.utf8))

            #expect((get.status, try get.reason) == (405, "MethodNotAllowed"))
            #expect((elsewhere.status, try elsewhere.reason) == (404, "BadPath"))
            #expect((doubled.status, try doubled.reason) == (400, "DuplicateHeaders"))
        }
    }

    @Test(
        "A payload may have 4,096 bytes, or 5,120 for VoIP",
        arguments: [("alert", "", 4_096), ("voip", ".voip", 5_120)]
    )
    func payloadSize(type: String, suffix: String, limit: Int) async throws {
        try await withSandbox { fixture in
            let frame = #"{"aps":{"alert":""}}"#.utf8.count
            func send(_ size: Int) async throws -> SandboxResponse {
                let text = String(repeating: "x", count: size - frame)
                return try await fixture.push(
                    headers: ["apns-push-type": type, "apns-topic": fixture.credentials.apns.topic + suffix],
                    payload: #"{"aps":{"alert":"\#(text)"}}"#
                )
            }

            #expect(try await send(limit).status == 200)
            let refused = try await send(limit + 1)
            #expect((refused.status, try refused.reason) == (413, "PayloadTooLarge"))
            #expect(try await send(100).status == 200)
        }
    }

    @Test("A background notification of priority 5 is accepted")
    func backgroundPriority() async throws {
        try await withSandbox { fixture in
            let headers = ["apns-push-type": "background", "apns-priority": "5"]

            let reply = try await fixture.push(headers: headers, payload: #"{"aps":{"content-available":1},"id":7}"#)

            #expect(reply.status == 200)
            #expect(fixture.sandbox.received.all().map { NotificationView($0).kind } == ["background"])
        }
    }

    @Test("A pinned device accepts only its environment and topic")
    func pinnedDevice() async throws {
        try await withSandbox { fixture in
            let device = String(repeating: "0f", count: 40)
            try fixture.sandbox.devices.pin(device, environment: .sandbox, topic: fixture.credentials.apns.topic)

            let wrong = try await fixture.push(to: device)
            let right = try await fixture.push(to: device.uppercased(), at: fixture.sandbox.apnsSandboxURL)

            #expect((wrong.status, try wrong.reason) == (400, "BadDeviceToken"))
            #expect(right.status == 200)
            try fixture.sandbox.devices.pin(device, topic: "org.example.other")
            let foreign = try await fixture.push(to: device)
            #expect((foreign.status, try foreign.reason) == (400, "DeviceTokenNotForTopic"))
        }
    }

    @Test("A repeated ID for the same device counts as a duplicate")
    func duplicates() async throws {
        try await withSandbox { fixture in
            let id = UUID().uuidString
            for _ in 0..<3 { _ = try await fixture.push(headers: ["apns-id": id]) }
            _ = try await fixture.push(to: String(repeating: "cd", count: 32), headers: ["apns-id": id])

            let counts = fixture.sandbox.received.counts
            #expect((counts.accepted, counts.distinct, counts.duplicates) == (4, 2, 2))
            #expect(fixture.sandbox.received.all().map(\.copies) == [1, 2, 3, 1])
        }
    }
}
