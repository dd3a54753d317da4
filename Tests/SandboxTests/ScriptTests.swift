import Foundation
import NIOCore
import NIOHTTP1
import SandboxServer
import Testing
import Wire

/// Failures by order.
@Suite(.timeLimit(.minutes(1))) struct ScriptTests {
    private static let other = String(repeating: "cd", count: 32)

    private static func push(
        to device: String,
        in scene: SandboxScene
    ) async throws -> (status: Int, answered: ContinuousClock.Instant) {
        (try await scene.push(to: device, within: .seconds(50)).status, .now)
    }

    @Test func aDeviceFailsAsOftenAsIsSaid() async throws {
        try await withSandbox { scene in
            let device = #""token":"\#(SandboxScene.device)""#
            let rule = #"{"service":"apns",\#(device),"reason":"TooManyRequests","times":2,"retryAfter":7}"#
            #expect(try await scene.tell("/sandbox/script", rule).status == 201)

            let first = try await scene.push()
            let elsewhere = try await scene.push(to: Self.other)
            let second = try await scene.push()
            let third = try await scene.push()

            #expect((first.status, try first.reason) == (429, "TooManyRequests"))
            #expect(first.headers["retry-after"] == ["7"])
            let statuses = [elsewhere.status, second.status, third.status]
            #expect(statuses == [200, 429, 200])
        }
    }

    @Test func aTokenThatIsGoneSaysSinceWhenInMilliseconds() async throws {
        try await withSandbox { scene in
            try scene.sandbox.script.add(ScriptRule(service: .apns, status: 410, times: 1))
            try scene.sandbox.script.add(
                ScriptRule(service: .apns, reason: "ExpiredToken", timestamp: 1_700_000_000_123, times: 1)
            )

            let first = try await scene.push()
            let second = try await scene.push()

            #expect((first.status, try first.reason) == (410, "Unregistered"))
            let now = Int64(scene.clock.now.timeIntervalSince1970 * 1_000)
            #expect(try first.json()["timestamp"]?.whole == now)
            #expect((second.status, try second.reason) == (410, "ExpiredToken"))
            #expect(try second.json()["timestamp"]?.whole == 1_700_000_000_123)
            #expect(scene.sandbox.seen.counts.refused == ["apns 410 Unregistered": 1, "apns 410 ExpiredToken": 1])
        }
    }

    @Test func aRuleForADeviceComesBeforeOneForAllUntilAllAreGone() async throws {
        try await withSandbox { scene in
            try scene.sandbox.script.add(ScriptRule(service: .apns, reason: "ServiceUnavailable"))
            try scene.sandbox.script.add(ScriptRule(service: .apns, token: SandboxScene.device, status: 500))

            let one = try await scene.push()
            let other = try await scene.push(to: Self.other)
            let listed = try await scene.ask(.GET, scene.sandbox.url + "/sandbox/script").json()
            let cleared = try await scene.tell("/sandbox/script", "", .DELETE)

            #expect((one.status, try one.reason) == (500, "InternalServerError"))
            #expect((other.status, try other.reason) == (503, "ServiceUnavailable"))
            #expect(listed["rules"]?[1] != nil)
            #expect(cleared.status == 204)
            #expect(try await scene.push().status == 200)
        }
    }

    @Test func silenceIsNoAnswerButMayBeAnArrival() async throws {
        try await withSandbox { scene in
            _ = try await scene.push()
            try scene.sandbox.script.add(ScriptRule(service: .apns, behaviour: .silence, times: 1, accepts: true))

            let unanswered = Task { try await scene.push(within: .seconds(60)) }
            // It has arrived, so that what follows waits for nothing but an answer.
            try await scene.sandbox.seen.wait(forTotal: 2)
            try await Task.sleep(for: .seconds(1))
            unanswered.cancel()
            await #expect(throws: (any Error).self) { try await unanswered.value }

            #expect(scene.sandbox.seen.counts.accepted == 2)
            #expect(try await scene.push().status == 200)
        }
    }

    @Test func aDelayHoldsOneAnswerAndNoOther() async throws {
        try await withSandbox { scene in
            // One goes ahead, so that the connection allows more than one stream.
            _ = try await scene.push()
            try scene.sandbox.script.add(ScriptRule(service: .apns, token: SandboxScene.device, times: 1, delay: 15))

            async let slow = Self.push(to: SandboxScene.device, in: scene)
            // It has arrived before the quick one is sent.
            try await scene.sandbox.seen.wait(forTotal: 2)
            let quick = try await Self.push(to: Self.other, in: scene)

            #expect(quick.status == 200)
            #expect(try await slow.status == 200)
            #expect(try await slow.answered > quick.answered)
        }
    }

    @Test func anHTTP1ConnectionMayBeSilentOrCut() async throws {
        try await withSandbox { scene in
            let form = try scene.assertion()
            #expect(try await scene.requestToken(form).status == 200)
            try scene.sandbox.script.add(ScriptRule(service: .fcmToken, behaviour: .silence, times: 1))
            let unanswered = Task { try await scene.requestToken(form, within: .seconds(60)) }
            // It has arrived, so that what follows waits for nothing but an answer.
            while !scene.sandbox.script.rules.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            try await Task.sleep(for: .seconds(1))
            unanswered.cancel()
            await #expect(throws: (any Error).self) { try await unanswered.value }

            try scene.sandbox.script.add(ScriptRule(service: .fcmToken, behaviour: .reset, times: 1))
            await #expect(throws: (any Error).self) { try await scene.requestToken(form) }

            #expect(try await scene.requestToken(form).status == 200)
        }
    }

    @Test(arguments: [
        (#"{"service":"mail"}"#, "service"), (#"{"service":"apns","status":99}"#, "status"),
        (#"{"service":"apns","times":0}"#, "times"), (#"{"service":"apns","delay":-1}"#, "delay"),
        (#"{"service":"fcm","behaviour":"goaway"}"#, "behaviour"), (#"{"status":500}"#, "service"),
    ])
    func aRuleThatNobodyCouldFollowIsRefused(json: String, field: String) async throws {
        try await withSandbox { scene in
            let reply = try await scene.tell("/sandbox/script", json)

            #expect(reply.status == 400)
            #expect(try reply.json()["field"]?.text == field)
            #expect(scene.sandbox.script.rules.isEmpty)
        }
    }
}
