import Foundation
import PushProviders
import Testing

@Suite("APNs provider tokens") struct ProviderTokenTests {
    private func tokens(_ fixture: APNsFixture) -> [String] {
        fixture.server.requests.compactMap { $0.fields["authorization"] }
    }

    @Test("A provider token is renewed after 45 minutes")
    func renewal() async throws {
        try await withAPNs { fixture in
            _ = await fixture.send(times: 50)
            #expect(Set(tokens(fixture)).count == 1)

            fixture.clock.advance(minutes: 44.9)
            _ = await fixture.send(times: 50)
            #expect(Set(tokens(fixture)).count == 1)

            fixture.clock.advance(minutes: 0.1)
            _ = await fixture.send(times: 50)
            #expect(Set(tokens(fixture)).count == 2)
            #expect(Set(tokens(fixture).suffix(50)).count == 1)
        }
    }

    @Test("An expired provider token is replaced once, and the sends are retried")
    func expired() async throws {
        try await withAPNs { fixture in
            _ = await fixture.send()
            let old = tokens(fixture)[0]
            fixture.server.setScript { request in
                [request.fields["authorization"] == old ? .refuse(403, "ExpiredProviderToken") : .accept]
            }
            let replies = await fixture.send(times: 50)

            #expect(replies.allSatisfy { $0.outcome == .accepted })
            #expect(Set(tokens(fixture)).count == 2)
        }
    }

    @Test("A new token that APNs calls expired is not replaced for 20 minutes")
    func wrongClock() async throws {
        try await withAPNs(answering: { _ in
            [.refuse(403, "ExpiredProviderToken")]
        }) { fixture in
            #expect(await fixture.send().outcome == .misconfigured)
            #expect(await fixture.send().outcome == .misconfigured)
            // The second notification made no third token, because APNs also limits token updates.
            #expect(Set(tokens(fixture)).count == 2)

            fixture.clock.advance(minutes: 20)
            #expect(await fixture.send().outcome == .misconfigured)
            #expect(Set(tokens(fixture)).count == 3)
        }
    }

    @Test("Too many token updates are reported as busy, and the token is kept")
    func tooManyUpdates() async throws {
        try await withAPNs(answering: { request in
            [request.number == 1 ? .refuse(429, "TooManyProviderTokenUpdates") : .accept]
        }) { fixture in
            let reply = await fixture.send()
            #expect(reply.outcome == .providerBusy)
            #expect(reply.retryAfter == .seconds(1_200))

            fixture.clock.advance(minutes: 5)
            #expect(await fixture.send().outcome == .accepted)
            #expect(Set(tokens(fixture)).count == 1)
        }
    }

    @Test("A clock that is set back causes a new token")
    func clockMovedBack() async throws {
        try await withAPNs { fixture in
            _ = await fixture.send()
            fixture.clock.advance(minutes: -10)
            _ = await fixture.send()

            #expect(Set(tokens(fixture)).count == 2)
        }
    }

    @Test(
        "A key that is not P-256 in PEM is rejected",
        arguments: ["", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"]
    )
    func invalidKey(key: String) throws {
        var credentials = APNsClient.Credentials.test
        credentials.key = key
        let error = #expect(throws: PushCredentialsError.self) { try APNsClient(credentials: credentials) }
        #expect(error?.description == "the APNs key must be a P-256 private key in PEM")
    }

    @Test(
        "A URL that is not an HTTPS origin is rejected",
        arguments: ["http://localhost", "https://localhost/3", "localhost", "https://user@localhost"]
    )
    func invalidAddress(url: String) throws {
        var configuration = APNsClient.Configuration()
        configuration.sandboxURL = url
        #expect(throws: PushCredentialsError.self) {
            try APNsClient(credentials: .test, configuration: configuration)
        }
    }
}
