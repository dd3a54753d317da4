import Foundation
import Logging
import PushProviders
import Synchronization
import Testing
import Wire

@testable import PushServer

@Suite("Provider credentials") struct ProvidersTests {
    /// A fake of auth that records the credentials of every client made.
    private final class FakeAuth: Sendable {
        private struct State {
            var credentials: Providers.Credentials = [:]
            var isOffline = false
            var fetchCount = 0
            var made: [ProviderCredentials] = []
        }

        private let state = Mutex(State())
        let clock = TestClock()

        var fetchCount: Int { state.withLock { $0.fetchCount } }
        var made: [ProviderCredentials] { state.withLock { $0.made } }

        func setCredentials(_ credentials: Providers.Credentials) { state.withLock { $0.credentials = credentials } }
        func goOffline() { state.withLock { $0.isOffline = true } }

        func providers(own: Providers.Credentials) -> Providers {
            Providers(
                own: own,
                fetch: { _ in
                    try self.state.withLock { state in
                        state.fetchCount += 1
                        guard !state.isOffline else { throw APIError.unavailable("auth") }
                        return state.credentials
                    }
                },
                makeClient: { credentials in
                    guard credentials != .fcm(serviceAccount: "bad") else { throw APIError.internal }
                    self.state.withLock { $0.made.append(credentials) }
                    return ScriptedProvider()
                },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                now: clock.read
            )
        }
    }

    private static let ours = ProviderCredentials.fcm(serviceAccount: "ours")
    private static let theirs = ProviderCredentials.fcm(serviceAccount: "theirs")

    @Test("An application's own credentials precede the default ones")
    func applicationOrDefaultCredentials() async throws {
        let auth = FakeAuth()
        auth.setCredentials([.fcm: Self.theirs])
        let providers = auth.providers(own: [.fcm: Self.ours, .web: .vapid(privateKey: "k", subject: "mailto:a@b")])

        #expect(try await providers.provider(.fcm, of: "acme") != nil)
        #expect(try await providers.provider(.web, of: "acme") != nil)
        #expect(try await providers.provider(.apns, of: "acme") == nil)

        #expect(auth.made == [Self.theirs, .vapid(privateKey: "k", subject: "mailto:a@b")])
        #expect(auth.fetchCount == 1)
    }

    @Test("Applications without credentials share one client")
    func sharedClient() async throws {
        let auth = FakeAuth()
        let providers = auth.providers(own: [.fcm: Self.ours])

        for application in ["a", "b", "a"] { _ = try await providers.provider(.fcm, of: application) }

        #expect(auth.made == [Self.ours])
        #expect(auth.fetchCount == 2)
    }

    @Test("Changed credentials are in use after a minute")
    func changedCredentials() async throws {
        let auth = FakeAuth()
        let providers = auth.providers(own: [.fcm: Self.ours])
        _ = try await providers.provider(.fcm, of: "acme")
        auth.setCredentials([.fcm: Self.theirs])
        auth.clock.advance(by: 59)
        _ = try await providers.provider(.fcm, of: "acme")
        #expect(auth.made == [Self.ours])

        auth.clock.advance(by: 1)
        _ = try await providers.provider(.fcm, of: "acme")

        #expect(auth.made == [Self.ours, Self.theirs])
    }

    @Test("While auth is unavailable, known credentials stay in use")
    func authUnavailable() async throws {
        let auth = FakeAuth()
        auth.setCredentials([.fcm: Self.theirs])
        let providers = auth.providers(own: [:])
        _ = try await providers.provider(.fcm, of: "acme")
        auth.goOffline()
        auth.clock.advance(by: 3_600)

        #expect(try await providers.provider(.fcm, of: "acme") != nil)
        await #expect(throws: APIError.self) { try await providers.provider(.fcm, of: "unknown") }
    }

    @Test("With unusable credentials every send reports a misconfiguration")
    func unusableCredentials() async throws {
        let auth = FakeAuth()
        auth.setCredentials([.fcm: .fcm(serviceAccount: "bad")])
        let providers = auth.providers(own: [.fcm: Self.ours])

        let provider = try #require(try await providers.provider(.fcm, of: "acme"))
        let reply = await provider.send(PushMessage(id: UUID()), to: .fcm(token: "t"))

        #expect(reply.outcome == .misconfigured)
        #expect(reply.reason == "unusable_credentials")
    }
}
