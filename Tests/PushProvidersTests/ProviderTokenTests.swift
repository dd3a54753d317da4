import Foundation
import PushProviders
import Testing

/// The token by which Apple knows the provider.
@Suite struct ProviderTokenTests {
    private func tokens(_ scene: APNsScene) -> [String] {
        scene.server.requests.compactMap { $0.fields["authorization"] }
    }

    @Test func itIsRenewedAt45MinutesByOneForAll() async throws {
        try await withAPNs { scene in
            _ = await scene.send(times: 50)
            #expect(Set(tokens(scene)).count == 1)

            scene.clock.advance(minutes: 44.9)
            _ = await scene.send(times: 50)
            #expect(Set(tokens(scene)).count == 1)

            scene.clock.advance(minutes: 0.1)
            _ = await scene.send(times: 50)
            #expect(Set(tokens(scene)).count == 2)
            #expect(Set(tokens(scene).suffix(50)).count == 1)
        }
    }

    @Test func oneThatHasExpiredIsReplacedOnceForAll() async throws {
        try await withAPNs { scene in
            _ = await scene.send()
            let old = tokens(scene)[0]
            scene.server.play { request in
                [request.fields["authorization"] == old ? .refuse(403, "ExpiredProviderToken") : .accept]
            }
            let replies = await scene.send(times: 50)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(Set(tokens(scene)).count == 2)
        }
    }

    @Test func oneThatExpiresAtOnceIsAClocksFault() async throws {
        try await withAPNs(answering: { _ in
            [.refuse(403, "ExpiredProviderToken")]
        }) { scene in
            #expect(await scene.send().outcome == .misconfigured)
            #expect(await scene.send().outcome == .misconfigured)
            // The second notification made no third token: Apple would complain of that as well.
            #expect(Set(tokens(scene)).count == 2)

            scene.clock.advance(minutes: 20)
            #expect(await scene.send().outcome == .misconfigured)
            #expect(Set(tokens(scene)).count == 3)
        }
    }

    @Test func oneReplacedTooOftenIsKeptUntilItIs20MinutesOld() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .refuse(429, "TooManyProviderTokenUpdates") : .accept]
        }) { scene in
            let reply = await scene.send()
            #expect(reply.outcome == .providerBusy)
            #expect(reply.retryAfter == .seconds(1_200))

            scene.clock.advance(minutes: 5)
            #expect(await scene.send().outcome == .accepted)
            #expect(Set(tokens(scene)).count == 1)
        }
    }

    @Test func aClockPutBackMakesAnother() async throws {
        try await withAPNs { scene in
            _ = await scene.send()
            scene.clock.advance(minutes: -10)
            _ = await scene.send()

            #expect(Set(tokens(scene)).count == 2)
        }
    }

    @Test(arguments: ["", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"])
    func aKeyThatIsNoneIsRefusedWithoutBeingShown(key: String) throws {
        var credentials = APNsClient.Credentials.test
        credentials.key = key
        let error = #expect(throws: PushCredentialsError.self) { try APNsClient(credentials: credentials) }
        #expect(error?.description == "the key for APNs is no private key of P-256 in PEM")
    }

    @Test(arguments: ["http://localhost", "https://localhost/3", "localhost", "https://user@localhost"])
    func anAddressThatIsNotAppleIsRefused(url: String) throws {
        var configuration = APNsClient.Configuration()
        configuration.sandboxURL = url
        #expect(throws: PushCredentialsError.self) {
            try APNsClient(credentials: .test, configuration: configuration)
        }
    }
}
