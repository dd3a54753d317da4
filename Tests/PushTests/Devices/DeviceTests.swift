import AuthAPI
import Foundation
import HTTPTypes
import Postgres
import PushAPI
import TestSupport
import Testing
import Wire

@testable import PushServer

@Suite("Devices") struct DeviceTests {
    private static let token = String(repeating: "0a1B", count: 16)

    @Test("A registered device is listed for its user only")
    func registration() async throws {
        try await withPush { fixture in
            let draft = DeviceDraft(platform: "ios_production", token: Self.token, deviceId: "phone")
            let device = try await fixture.ann.preferences.register(draft)

            #expect(device.deviceId == "phone")
            #expect(device.platform == .iosProduction)
            #expect(device.current)
            #expect(device.token == "0a1b…0a1b")
            #expect(try await fixture.ann.preferences.devices() == [device])
            #expect(try await fixture.bob.preferences.devices().isEmpty)
            let twin = try await fixture.person("ann", application: RoostApplication.id)
            #expect(try await twin.preferences.devices().isEmpty)
        }
    }

    @Test("An APNs token is stored in lower case, without brackets and spaces")
    func normalizedToken() async throws {
        try await withPush { fixture in
            let draft = DeviceDraft(platform: "ios_sandbox", token: "<0A1b 2c3d> ", deviceId: "phone")
            try await fixture.ann.preferences.register(draft)

            #expect(try await fixture.rows("SELECT token AS row FROM devices") == ["0a1b2c3d"])
        }
    }

    @Test("Registering a device again updates its token and enables it")
    func repeatedRegistration() async throws {
        let clock = TestClock()
        try await withPush(now: clock.read) { fixture in
            let first = try await fixture.ann.preferences.register(.phone("aa"))
            try await fixture.service.database.pool.run("UPDATE devices SET disabled_reason = 'bad_token', badge = 3")
            clock.advance(by: 60)
            let second = try await fixture.ann.preferences.register(.phone("bb"))

            #expect(second.id == first.id)
            #expect(second.disabledReason == nil)
            #expect(second.registeredAt.timeIntervalSince(first.registeredAt) == 60)
            let rows = try await fixture.rows("SELECT concat_ws(' ', token, badge, user_id) AS row FROM devices")
            #expect(rows == ["bb 3 ann"])
        }
    }

    @Test("A token belongs to the user who registered it last")
    func newOwner() async throws {
        try await withPush { fixture in
            let annsDevice = try await fixture.ann.preferences.register(.phone("aa"))
            let bobsDevice = try await fixture.bob.preferences.register(.phone("AA", deviceID: "his"))

            #expect(bobsDevice.id != annsDevice.id)
            #expect(try await fixture.ann.preferences.devices().isEmpty)
            // Both APNs environments share one set of tokens. The same text as an FCM token is a different token.
            let sandbox = DeviceDraft(platform: "ios_sandbox", token: "aa", deviceId: "tablet")
            let moved = try await fixture.bob.preferences.register(sandbox)
            try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: "aa"))
            #expect(try await fixture.bob.preferences.devices() == [moved])
            // The same user name in another application is a different user.
            let twin = try await fixture.person("ann", application: RoostApplication.id)
            try await twin.preferences.register(.phone("aa"))
            #expect(try await fixture.bob.preferences.devices() == [moved])
        }
    }

    @Test("Concurrent registrations of one token leave one device")
    func concurrentRegistration() async throws {
        try await withPush { fixture in
            var people: [TestUser] = []
            for number in 0..<8 { people.append(try await fixture.person("person \(number)")) }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for person in people {
                    tasks.addTask { try await person.preferences.register(.phone("aa")) }
                    tasks.addTask { try await person.preferences.register(.phone("bb", deviceID: "tablet")) }
                }
                try await tasks.waitForAll()
            }
            let rows = try await fixture.rows("SELECT token AS row FROM devices ORDER BY token")
            #expect(rows == ["aa", "bb"])
        }
    }

    @Test("A device without an ID takes the ID of the session's device, else of the session")
    func defaultDeviceID() async throws {
        try await withPush { fixture in
            let nameless = try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: "one"))
            #expect(nameless.deviceId == fixture.ann.session)

            let opened = fixture.keys.openSession(of: fixture.bob.id, device: "bob's phone")
            let body = #"{"platform": "gcm", "token": "two"}"#
            let response = try await fixture.service.send(.post, "/devices", token: opened, body: body)
            #expect(try response.decode(Device.self).deviceId == "bob's phone")
        }
    }

    @Test("A user removes their own device only, and an unknown device is not found")
    func removal() async throws {
        try await withPush { fixture in
            let device = try await fixture.ann.preferences.register(.phone("aa"))

            #expect(try await fixture.bob.ask(.delete, "/devices/\(device.id)").status == 404)
            for id in ["0", "0\(device.id)", "-1", "x", "99999999999999999999"] {
                #expect(try await fixture.ann.ask(.delete, "/devices/\(id)").problem?.code == "device_not_found")
            }
            try await fixture.ann.preferences.remove(device)
            #expect(try await fixture.ann.preferences.devices().isEmpty)
            #expect(try await fixture.ann.ask(.delete, "/devices/\(device.id)").status == 404)
        }
    }

    @Test("At the limit, a new device replaces the least recently registered one")
    func deviceLimit() async throws {
        let clock = TestClock()
        try await withPush(change: { $0.maximumDevicesPerUser = 3 }, now: clock.read) { fixture in
            for name in ["a", "b", "c"] {
                try await fixture.ann.preferences.register(.phone("\(name)0", deviceID: name))
                clock.advance(by: 1)
            }
            try await fixture.ann.preferences.register(.phone("a1", deviceID: "a"))
            clock.advance(by: 1)
            try await fixture.ann.preferences.register(.phone("d0", deviceID: "d"))

            #expect(Set(try await fixture.ann.preferences.devices().map(\.deviceId)) == ["a", "c", "d"])
        }
    }

    @Test("Devices are listed in pages, and a cursor is valid for its user only")
    func paging() async throws {
        try await withPush { fixture in
            for number in 0..<5 {
                try await fixture.ann.preferences.register(.phone("0\(number)", deviceID: "\(number)"))
            }
            let first = try await fixture.ann.ask(.get, "/devices?limit=3").decode(Page<Device>.self)
            let next = try #require(first.next)
            let second = try await fixture.ann.ask(.get, "/devices?limit=3&cursor=\(next)").decode(Page<Device>.self)

            #expect((first.items + second.items).map(\.deviceId) == ["0", "1", "2", "3", "4"])
            #expect(second.next == nil)
            #expect(try await fixture.bob.ask(.get, "/devices?cursor=\(next)").problem?.field == "cursor")
        }
    }

    @Test(
        "An invalid device is rejected with the field's name, and nothing is stored",
        arguments: [
            (#"{"token": "aa"}"#, "platform", "missing_field"),
            (#"{"platform": "", "token": "aa"}"#, "platform", "missing_field"),
            (#"{"platform": "fax", "token": "aa"}"#, "platform", "unknown_platform"),
            (#"{"platform": "gcm"}"#, "token", "missing_field"),
            (#"{"platform": "gcm", "token": "< >"}"#, "token", "missing_field"),
            (#"{"platform": "gcm", "token": 7}"#, "token", "invalid_type"),
            (#"{"platform": "gcm", "token": "tökén"}"#, "token", "malformed_token"),
            (#"{"platform": "gcm", "token": "a\nb"}"#, "token", "malformed_token"),
            (#"{"platform": "ios_sandbox", "token": "../x"}"#, "token", "malformed_token"),
            (#"{"platform": "gcm", "token": "\#(String(repeating: "x", count: 4_097))"}"#, "token", "too_long"),
            (#"{"platform": "gcm", "token": "aa", "deviceId": ""}"#, "deviceId", "missing_field"),
            (#"{"platform": "gcm", "token": "aa", "deviceId": "a\tb"}"#, "deviceId", "malformed_device_id"),
            (#"{"platform": "web", "token": "aa"}"#, "subscription", "missing_field"),
        ]
    )
    func invalidDevice(body: String, field: String, code: String) async throws {
        try await withPush { fixture in
            let response = try await fixture.ann.ask(.post, "/devices", body)

            #expect(response.status == 400, "\(response.text)")
            #expect(response.problem?.field == field, "\(response.text)")
            #expect(response.problem?.code == code)
            #expect(try await fixture.ann.preferences.devices().isEmpty)
        }
    }

    @Test("A token of the maximum length is stored, and moves to its new owner")
    func longestToken() async throws {
        try await withPush { fixture in
            // Random text, which PostgreSQL cannot compress in an index.
            let token = (0..<64).map { _ in Base64URL.random(bytes: 48) }.joined()
            try await fixture.ann.preferences.register(DeviceDraft(platform: "gcm", token: token))
            try await fixture.bob.preferences.register(DeviceDraft(platform: "gcm", token: token))

            #expect(token.utf8.count == PushPlatform.maximumToken)
            #expect(try await fixture.rows("SELECT user_id AS row FROM devices") == ["bob"])
        }
    }
}
