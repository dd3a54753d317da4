import Foundation
import Logging
import PushProviders
import Synchronization
import Testing
import Wire

@testable import PushServer

@Suite struct ProvidersTests {
    /// Auth, and what clients were made of.
    private final class World: Sendable {
        private struct State {
            var credentials: Providers.Credentials = [:]
            var isAway = false
            var asked = 0
            var made: [ProviderCredentials] = []
        }

        private let state = Mutex(State())
        let clock = TestClock()

        var asked: Int { state.withLock { $0.asked } }
        var made: [ProviderCredentials] { state.withLock { $0.made } }

        func give(_ credentials: Providers.Credentials) { state.withLock { $0.credentials = credentials } }
        func leave() { state.withLock { $0.isAway = true } }

        func providers(own: Providers.Credentials) -> Providers {
            Providers(
                own: own,
                ask: { _ in
                    try self.state.withLock { state in
                        state.asked += 1
                        guard !state.isAway else { throw APIError.unavailable("auth") }
                        return state.credentials
                    }
                },
                make: { credentials in
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

    @Test func anApplicationIsServedByItsOwnCredentialsOrElseOurs() async throws {
        let world = World()
        world.give([.fcm: Self.theirs])
        let providers = world.providers(own: [.fcm: Self.ours, .web: .vapid(privateKey: "k", subject: "mailto:a@b")])

        #expect(try await providers.provider(.fcm, of: "acme") != nil)
        #expect(try await providers.provider(.web, of: "acme") != nil)
        #expect(try await providers.provider(.apns, of: "acme") == nil)

        #expect(world.made == [Self.theirs, .vapid(privateKey: "k", subject: "mailto:a@b")])
        #expect(world.asked == 1)
    }

    @Test func applicationsWithoutCredentialsShareAClient() async throws {
        let world = World()
        let providers = world.providers(own: [.fcm: Self.ours])

        for application in ["a", "b", "a"] { _ = try await providers.provider(.fcm, of: application) }

        #expect(world.made == [Self.ours] && world.asked == 2)
    }

    @Test func changedCredentialsCountWithinAMinute() async throws {
        let world = World()
        let providers = world.providers(own: [.fcm: Self.ours])
        _ = try await providers.provider(.fcm, of: "acme")
        world.give([.fcm: Self.theirs])
        world.clock.advance(by: 59)
        _ = try await providers.provider(.fcm, of: "acme")
        #expect(world.made == [Self.ours])

        world.clock.advance(by: 1)
        _ = try await providers.provider(.fcm, of: "acme")

        #expect(world.made == [Self.ours, Self.theirs])
    }

    @Test func knownCredentialsServeWhileAuthIsAway() async throws {
        let world = World()
        world.give([.fcm: Self.theirs])
        let providers = world.providers(own: [:])
        _ = try await providers.provider(.fcm, of: "acme")
        world.leave()
        world.clock.advance(by: 3_600)

        #expect(try await providers.provider(.fcm, of: "acme") != nil)
        await #expect(throws: APIError.self) { try await providers.provider(.fcm, of: "unknown") }
    }

    @Test func credentialsThatCannotBeUsedAreSaidToBeWrong() async throws {
        let world = World()
        world.give([.fcm: .fcm(serviceAccount: "bad")])
        let providers = world.providers(own: [.fcm: Self.ours])

        let provider = try #require(try await providers.provider(.fcm, of: "acme"))
        let reply = await provider.send(PushMessage(id: UUID()), to: .fcm(token: "t"))

        #expect(reply.outcome == .misconfigured && reply.reason == "unusable_credentials")
    }
}
