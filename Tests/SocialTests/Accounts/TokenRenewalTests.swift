import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing

@testable import SocialServer

@Suite("Token renewal") struct TokenRenewalTests {
    @Test("Twenty concurrent requests renew the tokens once")
    func concurrentRequests() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.twitter]
            network.renewing.change { $0 = .renews }
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            network.fill("ann+", times: [3, 2, 1])

            let pages = try await withThrowingTaskGroup(of: SocialResponse.self) { tasks in
                for _ in 0..<20 { tasks.addTask { try await fixture.ann.read("/feed") } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }

            #expect(pages.allSatisfy { $0.response.items.count == 3 })
            #expect(network.asked.value.filter { $0.hasPrefix("renew") } == ["renew ann"])
        }
    }

    @Test("An empty refresh token in the response keeps the previous one")
    func emptyRefreshToken() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.twitter]
            network.renewing.change { $0 = .renews }
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)

            for _ in 0..<3 {
                _ = try await fixture.ann.read("/feed")
                fixture.clock.advance(by: 3_500)
            }

            #expect(network.refreshTokens.value == ["r1", "r1", "r1"])
        }
    }

    @Test("A failed renewal is retried, and the account is then linked again")
    func transientError() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.twitter]
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            network.renewing.change { $0 = .fails(NetworkHTTPFailure.noAnswer("cut off")) }
            fixture.clock.advance(by: 200)

            let during = try await fixture.ann.read("/feed")
            let expired = try await fixture.rows("SELECT state AS row FROM accounts")
            network.renewing.change { $0 = .renews }
            network.fill("ann+", times: [1])
            fixture.clock.advance(by: 60)
            let after = try await fixture.ann.read("/feed")

            #expect(during.meta.networks[.twitter]?.code == 503)
            #expect(expired == ["expired"])
            #expect(after.meta.networks[.twitter]?.code == 200)
            #expect(after.response.items.count == 1)
            #expect(try await fixture.rows("SELECT state AS row FROM accounts") == ["linked"])
        }
    }

    @Test("A revoked grant is tried once and requires linking again")
    func revokedGrant() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.twitter]
            network.renewing.change { $0 = .fails(NetworkError(.auth, "invalid_grant")) }
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)

            for _ in 0..<5 {
                let page = try await fixture.ann.read("/feed")
                #expect(page.meta.networks[.twitter]?.code == 401)
                // There is no next page until the user links the account again.
                #expect(page.meta.next == nil)
            }
            let state = try await fixture.ann.ask(.get, "/networks").json["networks"].array
                .first { $0["network"].string == "twitter" }?["state"].string
            let renewals = network.asked.value.filter { $0.hasPrefix("renew") }
            network.renewing.change { $0 = .renews }
            try await fixture.ann.link(.twitter, "ann again")

            #expect(state == "reauthenticate")
            #expect(renewals.count == 1)
            #expect(try await fixture.ann.read("/feed").meta.networks[.twitter]?.code == 200)
        }
    }

    @Test("Tokens that cannot be renewed are used until they expire")
    func withoutRefreshToken() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.twitter]
            network.renewing.change { $0 = .fails(NetworkError(.auth, "there is no refresh token")) }
            try await fixture.ann.link(.twitter, "ann", #", "expires_in": 100"#)

            let before = try await fixture.ann.read("/feed")
            let stateBefore = try await fixture.rows("SELECT state AS row FROM accounts")
            fixture.clock.advance(by: 200)
            network.behavior.change { $0.failure = { NetworkError(.auth, "the token has expired") } }
            let after = try await fixture.ann.read("/feed")

            #expect(before.meta.networks[.twitter] == .ok)
            #expect(stateBefore == ["linked"])
            #expect(after.meta.networks[.twitter]?.code == 401)
            #expect(try await fixture.rows("SELECT state AS row FROM accounts") == ["reauthenticate"])
        }
    }

    @Test("Two instances renew the tokens once")
    func twoInstances() async throws {
        let networks = MemoryNetworks()
        try await withSocial(networks) { fixture in
            networks[.twitter].renewing.change { $0 = .renews }
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await fixture.another { other in
                let one = fixture.ann
                let two = try await TestUser(one.id, at: other, fixture.keys)
                // The pause lets the other instance find the tokens due as well.
                networks[.twitter].beforeRenewal.change { $0 = { try await Task.sleep(for: .milliseconds(300)) } }

                async let first = one.read("/feed")
                async let second = two.read("/feed")
                let codes = try await [first, second].map { $0.meta.networks[.twitter]?.code }

                #expect(codes == [200, 200])
                #expect(networks[.twitter].asked.value.filter { $0.hasPrefix("renew") } == ["renew ann"])
            }
        }
    }

    @Test("A hanging renewal delays neither valid tokens nor other networks")
    func hangingRenewal() async throws {
        try await withSocial(settings: ["SOCIAL_DEADLINE_MS": "2000"]) { fixture in
            let network = fixture.networks[.twitter]
            network.renewing.change { $0 = .renews }
            let hanging = Shared(0)
            network.beforeRenewal.change {
                $0 = {
                    hanging.change { $0 += 1 }
                    defer { hanging.change { $0 -= 1 } }
                    try await Task.sleep(for: .seconds(60))
                }
            }
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await fixture.link(.facebook)
            network.fill("ann", times: [2])
            fixture.networks[.facebook].fill("ann", times: [1])

            // The request succeeds while the renewal hangs, which is canceled after ten seconds. It is repeated because
            // the deadline may pass on a slow machine.
            try await eventually(within: .seconds(30), "read with tokens that last") {
                let page = try await fixture.ann.read("/feed")
                return page.meta.networks[.twitter] == .ok && page.response.items.count == 2 && hanging.value == 1
            }
            fixture.clock.advance(by: 200)
            try await eventually(within: .seconds(30), "read without the network whose tokens have ended") {
                let page = try await fixture.ann.read("/feed")
                return page.meta.networks[.twitter]?.code == 504 && page.meta.networks[.facebook] == .ok
                    && page.response.items.count == 1 && hanging.value == 1
            }
        }
    }

    @Test("A failed renewal as the circuit breaker's probe does not keep the circuit open")
    func failedProbe() async throws {
        try await withSocial { fixture in
            let network = fixture.networks[.twitter]
            try await fixture.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await fixture.bob.link(.twitter, "bob")
            network.behavior.change { $0.failure = { NetworkHTTPFailure.noAnswer("cut off") } }
            for _ in 0..<CircuitBreakers.threshold { _ = try await fixture.bob.read("/feed") }
            network.behavior.change { $0.failure = nil }
            network.renewing.change { $0 = .fails(NetworkError(.auth, "invalid_grant")) }
            fixture.clock.advance(by: 2)

            // This request is the circuit breaker's probe.
            let tried = try await fixture.ann.read("/feed")
            let after = try await fixture.bob.read("/feed")

            #expect(tried.meta.networks[.twitter]?.code == 401)
            #expect(after.meta.networks[.twitter] == .ok)
        }
    }
}
