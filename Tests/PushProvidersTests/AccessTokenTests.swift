import Foundation
import PushProviders
import Synchronization
import TestSupport
import Testing

/// The access token by which Google knows the sender.
@Suite struct AccessTokenTests {
    @Test func itIsFetchedOnceForAll() async throws {
        try await withFCM { scene in
            let replies = await scene.send(times: 100)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(scene.assertions.count == 1)
        }
    }

    @Test func itIsRenewedWhileTheOldOneStillWorks() async throws {
        try await withFCM { scene in
            _ = await scene.send()
            scene.clock.advance(minutes: 53)
            _ = await scene.send()
            #expect(scene.assertions.count == 1)

            // Six minutes before its end.
            scene.clock.advance(minutes: 1)
            _ = await scene.send(times: 20)
            try await eventually { scene.assertions.count == 2 }
            try await eventually {
                _ = await scene.send()
                return scene.sent.last?.fields["authorization"] != "Bearer access-1"
            }
            #expect(scene.assertions.count == 2)
        }
    }

    @Test func oneThatHasEndedIsNotUsed() async throws {
        try await withFCM { scene in
            _ = await scene.send()
            scene.clock.advance(minutes: 61)
            _ = await scene.send(times: 20)

            #expect(scene.assertions.count == 2)
            #expect(scene.sent.dropFirst().allSatisfy { $0.fields["authorization"] != "Bearer access-1" })
        }
    }

    @Test func oneThatIsRefusedIsReplacedOnceForAll() async throws {
        try await withFCM(answering: { request in
            request.fields["authorization"] == "Bearer access-1"
                ? .init(status: 401, body: .problem("UNAUTHENTICATED")) : .init(status: 200, body: "{}")
        }) { scene in
            let replies = await scene.send(times: 30)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(scene.assertions.count == 2)
        }
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant"}"#, PushOutcome.misconfigured, "AccessToken: invalid_grant"),
        (401, #"{"error":"unauthorized_client"}"#, .misconfigured, "AccessToken: unauthorized_client"),
        (200, "{}", .misconfigured, "AccessToken: no token"), (503, "", .providerBusy, "AccessToken: no token"),
        (429, "", .providerBusy, "AccessToken: no token"),
    ])
    func withoutOneNothingIsSent(status: Int, body: String, outcome: PushOutcome, reason: String) async throws {
        try await withFCM(token: { _ in .init(status: status, body: body) }) { scene in
            #expect(await scene.send() == PushReply(outcome, status: status, reason: reason))
            #expect(scene.sent.isEmpty)
        }
    }

    @Test func aFailureStandsForASecond() async throws {
        let isWorking = Mutex(false)
        try await withFCM(token: { _ in
            isWorking.withLock { $0 } ? .init(status: 200, body: .grant("new")) : .init(status: 503)
        }) { scene in
            _ = await scene.send(times: 50)
            _ = await scene.send(times: 50)
            #expect(scene.assertions.count == 1)

            isWorking.withLock { $0 = true }
            scene.clock.advance(minutes: 1 / 60)
            #expect(await scene.send().outcome == .accepted)
            #expect(scene.assertions.count == 2)
        }
    }

    @Test func anAccountThatCannotBeUsedIsRefusedWithoutBeingShown() throws {
        for (account, word) in [
            ("", "no JSON"), ("{}", "no JSON"),
            (#"{"project_id":"a","client_email":"b","private_key":"secret"}"#, "no RSA key"),
        ] {
            let error = #expect(throws: PushCredentialsError.self) { try FCMClient(serviceAccount: account) }
            #expect(error?.description.contains(word) == true)
            #expect(error?.description.contains("secret") == false)
        }
    }
}
