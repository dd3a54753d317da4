import Foundation
import PushProviders
import Synchronization
import TestSupport
import Testing

@Suite("FCM access tokens") struct AccessTokenTests {
    @Test("Concurrent sends fetch one access token")
    func fetchedOnce() async throws {
        try await withFCM { fixture in
            let replies = await fixture.send(times: 100)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(fixture.assertions.count == 1)
        }
    }

    @Test("An access token is renewed once, six minutes before it expires")
    func renewal() async throws {
        try await withFCM { fixture in
            _ = await fixture.send()
            fixture.clock.advance(minutes: 53)
            _ = await fixture.send()
            #expect(fixture.assertions.count == 1)

            // Six minutes before the token expires.
            fixture.clock.advance(minutes: 1)
            _ = await fixture.send(times: 20)
            try await eventually { fixture.assertions.count == 2 }
            try await eventually {
                _ = await fixture.send()
                return fixture.sent.last?.fields["authorization"] != "Bearer access-1"
            }
            #expect(fixture.assertions.count == 2)
        }
    }

    @Test("An expired access token is not used")
    func expired() async throws {
        try await withFCM { fixture in
            _ = await fixture.send()
            fixture.clock.advance(minutes: 61)
            _ = await fixture.send(times: 20)

            #expect(fixture.assertions.count == 2)
            #expect(fixture.sent.dropFirst().allSatisfy { $0.fields["authorization"] != "Bearer access-1" })
        }
    }

    @Test("A rejected access token is replaced once, and the sends are retried")
    func refused() async throws {
        try await withFCM(answering: { request in
            request.fields["authorization"] == "Bearer access-1"
                ? .init(status: 401, body: .problem("UNAUTHENTICATED")) : .init(status: 200, body: "{}")
        }) { fixture in
            let replies = await fixture.send(times: 30)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(fixture.assertions.count == 2)
        }
    }

    @Test(
        "A failed token request determines the outcome, and nothing is sent",
        arguments: [
            (400, #"{"error":"invalid_grant"}"#, PushOutcome.misconfigured, "AccessToken: invalid_grant"),
            (401, #"{"error":"unauthorized_client"}"#, .misconfigured, "AccessToken: unauthorized_client"),
            (200, "{}", .misconfigured, "AccessToken: no token"), (503, "", .providerBusy, "AccessToken: no token"),
            (429, "", .providerBusy, "AccessToken: no token"),
        ]
    )
    func noToken(status: Int, body: String, outcome: PushOutcome, reason: String) async throws {
        try await withFCM(token: { _ in .init(status: status, body: body) }) { fixture in
            #expect(await fixture.send() == PushReply(outcome, status: status, reason: reason))
            #expect(fixture.sent.isEmpty)
        }
    }

    @Test("A failed token request is not repeated within a second")
    func failure() async throws {
        let isWorking = Mutex(false)
        try await withFCM(token: { _ in
            isWorking.withLock { $0 } ? .init(status: 200, body: .grant("new")) : .init(status: 503)
        }) { fixture in
            _ = await fixture.send(times: 50)
            _ = await fixture.send(times: 50)
            #expect(fixture.assertions.count == 1)

            isWorking.withLock { $0 = true }
            fixture.clock.advance(minutes: 1 / 60)
            #expect(await fixture.send().outcome == .accepted)
            #expect(fixture.assertions.count == 2)
        }
    }

    @Test("An invalid service account is rejected without its key in the error")
    func invalidAccount() throws {
        for (account, word) in [
            ("", "must be JSON"), ("{}", "must be JSON"),
            (#"{"project_id":"a","client_email":"b","private_key":"secret"}"#, "must be an RSA key"),
        ] {
            let error = #expect(throws: PushCredentialsError.self) { try FCMClient(serviceAccount: account) }
            #expect(error?.description.contains(word) == true)
            #expect(error?.description.contains("secret") == false)
        }
    }
}
