import Foundation
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// Apple's rules, through a client of HTTP/2.
@Suite(.timeLimit(.minutes(1))) struct APNsTests {
    @Test func aGoodNotificationIsTakenAndShown() async throws {
        try await withSandbox { scene in
            let id = UUID().uuidString.lowercased()
            let headers = [
                "apns-id": id, "apns-priority": "5", "apns-expiration": "0", "apns-collapse-id": "c",
                "apns-push-type": "alert",
            ]

            let reply = try await scene.push(headers: headers)

            #expect(reply.status == 200)
            #expect(reply.headers["apns-id"] == [id])
            #expect(reply.body.isEmpty)
            let seen = try #require(scene.sandbox.seen.all().first)
            #expect((seen.number, seen.device, seen.id, seen.copies) == (1, SandboxScene.device, id, 1))
            #expect(seen.environment == .production)
            #expect(String(decoding: seen.payload, as: UTF8.self) == SandboxScene.alert)
            let view = NotificationView(seen)
            #expect((view.title, view.body, view.kind) == ("Live", "Somebody plays", "alert"))
            #expect(view.headers["apns-collapse-id"] == "c")
            #expect(view.headers["authorization"] == nil)
        }
    }

    @Test func anIdIsMadeWhereThereIsNone() async throws {
        try await withSandbox { scene in
            let first = try await scene.push()
            let second = try await scene.push(at: scene.sandbox.apnsSandboxURL)

            #expect(UUID(uuidString: first.headers["apns-id"].first ?? "") != nil)
            #expect(first.headers["apns-unique-id"].isEmpty)
            #expect(!second.headers["apns-unique-id"].isEmpty)
            #expect(scene.sandbox.seen.counts.duplicates == 0)
        }
    }

    struct Flaw: Sendable, CustomTestStringConvertible {
        var name: String? = nil
        var value: String? = nil
        var device = SandboxScene.device
        var payload = SandboxScene.alert
        let status: Int
        let reason: String

        var testDescription: String { "\(reason) \(name ?? "") \(value?.prefix(20) ?? "")" }
    }

    @Test(arguments: [
        Flaw(name: "apns-topic", status: 400, reason: "MissingTopic"),
        Flaw(name: "apns-topic", value: "org.example.other", status: 400, reason: "TopicDisallowed"),
        Flaw(name: "apns-topic", value: "org.example.roost.voip", status: 400, reason: "TopicDisallowed"),
        Flaw(name: "apns-topic", value: String(repeating: "a", count: 300), status: 400, reason: "BadTopic"),
        Flaw(name: "apns-push-type", value: "loud", status: 400, reason: "InvalidPushType"),
        Flaw(name: "apns-push-type", value: "voip", status: 400, reason: "TopicDisallowed"),
        Flaw(name: "apns-push-type", value: "background", status: 400, reason: "BadPriority"),
        Flaw(name: "apns-priority", value: "7", status: 400, reason: "BadPriority"),
        Flaw(name: "apns-priority", value: "high", status: 400, reason: "BadPriority"),
        Flaw(name: "apns-expiration", value: "-1", status: 400, reason: "BadExpirationDate"),
        Flaw(name: "apns-expiration", value: "tomorrow", status: 400, reason: "BadExpirationDate"),
        Flaw(name: "apns-collapse-id", value: String(repeating: "c", count: 65), status: 400, reason: "BadCollapseId"),
        Flaw(name: "apns-id", value: "1", status: 400, reason: "BadMessageId"),
        Flaw(name: "authorization", status: 403, reason: "MissingProviderToken"),
        Flaw(name: "authorization", value: "Basic YTpi", status: 403, reason: "MissingProviderToken"),
        Flaw(name: "authorization", value: "bearer a.b.c", status: 403, reason: "InvalidProviderToken"),
        Flaw(device: "", status: 400, reason: "MissingDeviceToken"),
        Flaw(device: "xy", status: 400, reason: "BadDeviceToken"),
        Flaw(device: String(repeating: "z", count: 64), status: 400, reason: "BadDeviceToken"),
        Flaw(device: String(repeating: "a", count: 65), status: 400, reason: "BadDeviceToken"),
        Flaw(device: "a/b", status: 404, reason: "BadPath"),
        Flaw(payload: "", status: 400, reason: "PayloadEmpty"),
        Flaw(payload: "{", status: 400, reason: "MalformedPayload"),
        Flaw(payload: "[]", status: 400, reason: "MalformedPayload"),
    ])
    func eachFlawHasApplesReason(_ flaw: Flaw) async throws {
        try await withSandbox { scene in
            let change: [String: String?] = flaw.name.map { [$0: flaw.value] } ?? [:]

            let reply = try await scene.push(to: flaw.device, headers: change, payload: flaw.payload)

            #expect(reply.status == flaw.status)
            #expect(try reply.reason == flaw.reason)
            #expect(!reply.headers["apns-id"].isEmpty)
            #expect(scene.sandbox.seen.counts.accepted == 0)
            #expect(scene.sandbox.seen.counts.refused == ["apns \(flaw.status) \(flaw.reason)": 1])
            // One flaw does not cost the connection.
            #expect(try await scene.push().status == 200)
        }
    }

    @Test func thePathTheMethodAndEachFieldOnceAreLookedAt() async throws {
        try await withSandbox { scene in
            let url = "\(scene.sandbox.apnsURL)/3/device/\(SandboxScene.device)"
            var twice = try scene.goodHeaders()
            twice.add(name: "apns-topic", value: scene.credentials.apns.topic)

            let get = try await scene.ask(.GET, url, headers: scene.goodHeaders())
            let elsewhere = try await scene.ask(.POST, scene.sandbox.apnsURL + "/2/x", headers: scene.goodHeaders())
            let doubled = try await scene.ask(.POST, url, headers: twice, body: Data(SandboxScene.alert.utf8))

            #expect((get.status, try get.reason) == (405, "MethodNotAllowed"))
            #expect((elsewhere.status, try elsewhere.reason) == (404, "BadPath"))
            #expect((doubled.status, try doubled.reason) == (400, "DuplicateHeaders"))
        }
    }

    @Test(arguments: [("alert", "", 4_096), ("voip", ".voip", 5_120)])
    func aPayloadHasItsSize(type: String, suffix: String, limit: Int) async throws {
        try await withSandbox { scene in
            let frame = #"{"aps":{"alert":""}}"#.utf8.count
            func send(_ size: Int) async throws -> Reply {
                let text = String(repeating: "x", count: size - frame)
                return try await scene.push(
                    headers: ["apns-push-type": type, "apns-topic": scene.credentials.apns.topic + suffix],
                    payload: #"{"aps":{"alert":"\#(text)"}}"#
                )
            }

            #expect(try await send(limit).status == 200)
            let refused = try await send(limit + 1)
            #expect((refused.status, try refused.reason) == (413, "PayloadTooLarge"))
            #expect(try await send(100).status == 200)
        }
    }

    @Test func aBackgroundPushIsTakenWithPriorityFive() async throws {
        try await withSandbox { scene in
            let headers = ["apns-push-type": "background", "apns-priority": "5"]

            let reply = try await scene.push(headers: headers, payload: #"{"aps":{"content-available":1},"id":7}"#)

            #expect(reply.status == 200)
            #expect(scene.sandbox.seen.all().map { NotificationView($0).kind } == ["background"])
        }
    }

    @Test func aPinnedDeviceIsGoodInOnePlaceAlone() async throws {
        try await withSandbox { scene in
            let device = String(repeating: "0f", count: 40)
            try scene.sandbox.devices.pin(device, environment: .sandbox, topic: scene.credentials.apns.topic)

            let wrong = try await scene.push(to: device)
            let right = try await scene.push(to: device.uppercased(), at: scene.sandbox.apnsSandboxURL)

            #expect((wrong.status, try wrong.reason) == (400, "BadDeviceToken"))
            #expect(right.status == 200)
            try scene.sandbox.devices.pin(device, topic: "org.example.other")
            let foreign = try await scene.push(to: device)
            #expect((foreign.status, try foreign.reason) == (400, "DeviceTokenNotForTopic"))
        }
    }

    @Test func whatComesTwiceIsCounted() async throws {
        try await withSandbox { scene in
            let id = UUID().uuidString
            for _ in 0..<3 { _ = try await scene.push(headers: ["apns-id": id]) }
            _ = try await scene.push(to: String(repeating: "cd", count: 32), headers: ["apns-id": id])

            let counts = scene.sandbox.seen.counts
            #expect((counts.accepted, counts.distinct, counts.duplicates) == (4, 2, 2))
            #expect(scene.sandbox.seen.all().map(\.copies) == [1, 2, 3, 1])
        }
    }
}
