import Foundation
import PushProviders
import Testing

@Suite("APNs responses") struct APNsResponseTests {
    @Test(
        "Each reason has its outcome, and only two reasons are retried at once",
        arguments: [
            (400, "BadDeviceToken", PushOutcome.wrongEnvironment), (400, "DeviceTokenNotForTopic", .wrongApp),
            (400, "BadTopic", .refused), (400, "TopicDisallowed", .refused), (400, "MissingTopic", .refused),
            (400, "InvalidPushType", .refused), (400, "BadPriority", .refused), (400, "BadExpirationDate", .refused),
            (400, "BadCollapseId", .refused), (400, "BadMessageId", .refused), (400, "DuplicateHeaders", .refused),
            (400, "MissingDeviceToken", .refused), (400, "PayloadEmpty", .refused), (400, "IdleTimeout", .providerBusy),
            (400, "SomethingNew", .refused), (403, "InvalidProviderToken", .misconfigured),
            (403, "MissingProviderToken", .misconfigured), (403, "UnrelatedKeyIdInToken", .misconfigured),
            (403, "BadEnvironmentKeyIdInToken", .misconfigured), (403, "BadEnvironmentKeyInToken", .misconfigured),
            (403, "BadCertificate", .misconfigured), (403, "BadCertificateEnvironment", .misconfigured),
            (403, "Forbidden", .misconfigured), (403, "ExpiredProviderToken", .misconfigured),
            (404, "BadPath", .refused), (405, "MethodNotAllowed", .refused), (413, "PayloadTooLarge", .tooLarge),
            (429, "TooManyRequests", .targetBusy), (429, "TooManyProviderTokenUpdates", .providerBusy),
            (500, "InternalServerError", .providerBusy), (503, "ServiceUnavailable", .providerBusy),
            (503, "Shutdown", .providerBusy), (502, "SomethingNew", .providerBusy),
        ]
    )
    func outcomes(status: Int, reason: String, outcome: PushOutcome) async throws {
        try await withAPNs(answering: { _ in
            [.refuse(status, reason)]
        }) { fixture in
            let reply = await fixture.send()

            #expect(reply.outcome == outcome)
            #expect(reply.status == status)
            #expect(reply.reason == reason)
            // Only an expired token and an idle connection are retried at once.
            let tries = ["ExpiredProviderToken", "IdleTimeout"].contains(reason) ? 2 : 1
            #expect(fixture.server.requests.count == tries)
        }
    }

    @Test("An unregistered device has the time that APNs reports", arguments: ["Unregistered", "ExpiredToken"])
    func unregisteredTimestamp(reason: String) async throws {
        try await withAPNs(answering: { _ in
            [.refuse(410, reason, timestamp: 1_700_000_000_123)]
        }) { fixture in
            let reply = await fixture.send()

            #expect(reply.outcome == .unregistered(since: Date(timeIntervalSince1970: 1_700_000_000.123)))
        }
    }

    @Test("A response without a reason has the outcome of its status")
    func foreignResponse() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .answer(502, body: "<html>") : .answer(302, [("location", "https://a.example/")])]
        }) { fixture in
            #expect(await fixture.send() == PushReply(.providerBusy, status: 502))
            #expect(await fixture.send() == PushReply(.misconfigured, status: 302))
        }
    }

    @Test(
        "Retry-After is read as seconds or as a date, up to a day",
        arguments: [
            ("120", Duration.seconds(120)), ("Fri, 15 Jan 2027 08:01:00 GMT", .seconds(60)), ("0", .zero),
            ("-5", .zero), ("99999999999", .seconds(86_400)),
        ]
    )
    func retryAfter(header: String, wait: Duration) async throws {
        try await withAPNs(answering: { _ in
            [.answer(503, [("retry-after", header)])]
        }) { fixture in
            #expect(await fixture.send().retryAfter == wait)
        }
    }

    @Test("A response body that is too large is ignored, and its connection stays open")
    func bodyLimit() async throws {
        let body = "{\"reason\":\"\(String(repeating: "x", count: 60_000))\"}"
        try await withAPNs(answering: { request in
            request.number == 1 ? [.answer(400, body: body)] : [.accept]
        }) { fixture in
            #expect(await fixture.send() == PushReply(.refused, status: 400))
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.server.connections == 1)
        }
    }
}
