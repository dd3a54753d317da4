import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

@Suite("Scripted failures", .timeLimit(.minutes(1))) struct ScriptTests {
    private static let other = String(repeating: "cd", count: 32)

    private static func push(
        to device: String,
        in fixture: SandboxFixture
    ) async throws -> (status: Int, completed: ContinuousClock.Instant) {
        (try await fixture.push(to: device, within: .seconds(50)).status, .now)
    }

    @Test("A rule applies to its device as often as it says")
    func failureCount() async throws {
        try await withSandbox { fixture in
            let device = #""token":"\#(SandboxFixture.device)""#
            let rule = #"{"service":"apns",\#(device),"reason":"TooManyRequests","times":2,"retryAfter":7}"#
            #expect(try await fixture.control("/sandbox/script", rule).status == 201)

            let first = try await fixture.push()
            let elsewhere = try await fixture.push(to: Self.other)
            let second = try await fixture.push()
            let third = try await fixture.push()

            #expect((first.status, try first.reason) == (429, "TooManyRequests"))
            #expect(first.headers["retry-after"] == ["7"])
            let statuses = [elsewhere.status, second.status, third.status]
            #expect(statuses == [200, 429, 200])
        }
    }

    @Test("A scripted unregistration has the current time or the time of the rule")
    func unregisteredTimestamp() async throws {
        try await withSandbox { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .apns, status: 410, times: 1))
            try fixture.sandbox.script.add(
                ScriptRule(service: .apns, reason: "ExpiredToken", timestamp: 1_700_000_000_123, times: 1)
            )

            let first = try await fixture.push()
            let second = try await fixture.push()

            #expect((first.status, try first.reason) == (410, "Unregistered"))
            let now = Int64(fixture.clock.now.timeIntervalSince1970 * 1_000)
            #expect(try first.json()["timestamp"]?.whole == now)
            #expect((second.status, try second.reason) == (410, "ExpiredToken"))
            #expect(try second.json()["timestamp"]?.whole == 1_700_000_000_123)
            #expect(
                fixture.sandbox.received.counts.refused == ["apns 410 Unregistered": 1, "apns 410 ExpiredToken": 1]
            )
        }
    }

    @Test("A rule for a device precedes a rule for all, and rules can be deleted")
    func rulePrecedence() async throws {
        try await withSandbox { fixture in
            try fixture.sandbox.script.add(ScriptRule(service: .apns, reason: "ServiceUnavailable"))
            try fixture.sandbox.script.add(ScriptRule(service: .apns, token: SandboxFixture.device, status: 500))

            let one = try await fixture.push()
            let other = try await fixture.push(to: Self.other)
            let listed = try await fixture.send(.GET, fixture.sandbox.url + "/sandbox/script").json()
            let cleared = try await fixture.control("/sandbox/script", "", .DELETE)

            #expect((one.status, try one.reason) == (500, "InternalServerError"))
            #expect((other.status, try other.reason) == (503, "ServiceUnavailable"))
            #expect(listed["rules"]?[1] != nil)
            #expect(cleared.status == 204)
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test("A notification may be accepted without a response")
    func silence() async throws {
        try await withSandbox { fixture in
            _ = try await fixture.push()
            try fixture.sandbox.script.add(ScriptRule(service: .apns, behaviour: .silence, times: 1, accepts: true))

            let pending = Task { try await fixture.push(within: .seconds(60)) }
            // The request has arrived, so only the response is outstanding.
            try await fixture.sandbox.received.wait(forTotal: 2)
            try await Task.sleep(for: .seconds(1))
            pending.cancel()
            await #expect(throws: (any Error).self) { try await pending.value }

            #expect(fixture.sandbox.received.counts.accepted == 2)
            #expect(try await fixture.push().status == 200)
        }
    }

    @Test("A delayed response does not delay others")
    func delay() async throws {
        try await withSandbox { fixture in
            // After its first request the connection allows more than one stream.
            _ = try await fixture.push()
            try fixture.sandbox.script.add(
                ScriptRule(service: .apns, token: SandboxFixture.device, times: 1, delay: 15)
            )

            async let slow = Self.push(to: SandboxFixture.device, in: fixture)
            // The slow notification has arrived before the quick one is sent.
            try await fixture.sandbox.received.wait(forTotal: 2)
            let quick = try await Self.push(to: Self.other, in: fixture)

            #expect(quick.status == 200)
            #expect(try await slow.status == 200)
            #expect(try await slow.completed > quick.completed)
        }
    }

    @Test("A request over HTTP/1.1 may get no response or lose its connection")
    func http1Faults() async throws {
        try await withSandbox { fixture in
            let form = try fixture.assertion()
            #expect(try await fixture.requestToken(form).status == 200)
            try fixture.sandbox.script.add(ScriptRule(service: .fcmToken, behaviour: .silence, times: 1))
            let pending = Task { try await fixture.requestToken(form, within: .seconds(60)) }
            // The request has arrived, so only the response is outstanding.
            while !fixture.sandbox.script.rules.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            try await Task.sleep(for: .seconds(1))
            pending.cancel()
            await #expect(throws: (any Error).self) { try await pending.value }

            try fixture.sandbox.script.add(ScriptRule(service: .fcmToken, behaviour: .reset, times: 1))
            await #expect(throws: (any Error).self) { try await fixture.requestToken(form) }

            #expect(try await fixture.requestToken(form).status == 200)
        }
    }

    @Test(
        "An invalid rule is rejected with the field",
        arguments: [
            (#"{"service":"mail"}"#, "service"), (#"{"service":"apns","status":99}"#, "status"),
            (#"{"service":"apns","times":0}"#, "times"), (#"{"service":"apns","delay":-1}"#, "delay"),
            (#"{"service":"fcm","behaviour":"goaway"}"#, "behaviour"), (#"{"status":500}"#, "service"),
        ]
    )
    func invalidRule(json: String, field: String) async throws {
        try await withSandbox { fixture in
            let reply = try await fixture.control("/sandbox/script", json)

            #expect(reply.status == 400)
            #expect(try reply.json()["field"]?.text == field)
            #expect(fixture.sandbox.script.rules.isEmpty)
        }
    }
}
