import Foundation
import HTTPTypes
import SocialAPI
import TestSupport
import Testing

@testable import SocialServer

/// Tokens that end.
@Suite struct RenewalTests {
    @Test func tokensAreRenewedOnceForAllWhoAskAtOnce() async throws {
        try await withSocial { scene in
            let network = scene.networks[.twitter]
            network.renewing.change { $0 = .renews }
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            network.fill("ann+", times: [3, 2, 1])

            let pages = try await withThrowingTaskGroup(of: SocialAnswer.self) { tasks in
                for _ in 0..<20 { tasks.addTask { try await scene.ann.read("/feed") } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }

            #expect(pages.allSatisfy { $0.response.items.count == 3 })
            #expect(network.asked.value.filter { $0.hasPrefix("renew") } == ["renew ann"])
        }
    }

    @Test func anEmptyRefreshTokenNeverTakesTheOldOnesPlace() async throws {
        try await withSocial { scene in
            let network = scene.networks[.twitter]
            network.renewing.change { $0 = .renews }
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)

            for _ in 0..<3 {
                _ = try await scene.ann.read("/feed")
                scene.clock.advance(by: 3_500)
            }

            #expect(network.refreshTokens.value == ["r1", "r1", "r1"])
        }
    }

    @Test func aPassingErrorDisconnectsNobody() async throws {
        try await withSocial { scene in
            let network = scene.networks[.twitter]
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            network.renewing.change { $0 = .fails(NetworkHTTPFailure.noAnswer("cut off")) }
            scene.clock.advance(by: 200)

            let during = try await scene.ann.read("/feed")
            let expired = try await scene.rows("SELECT state AS row FROM accounts")
            network.renewing.change { $0 = .renews }
            network.fill("ann+", times: [1])
            scene.clock.advance(by: 60)
            let after = try await scene.ann.read("/feed")

            #expect(during.meta.networks[.twitter]?.code == 503)
            #expect(expired == ["expired"])
            #expect(after.meta.networks[.twitter]?.code == 200 && after.response.items.count == 1)
            #expect(try await scene.rows("SELECT state AS row FROM accounts") == ["linked"])
        }
    }

    @Test func whatOnlyThePersonCanHelpIsNotAskedAgain() async throws {
        try await withSocial { scene in
            let network = scene.networks[.twitter]
            network.renewing.change { $0 = .fails(NetworkError(.auth, "invalid_grant")) }
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)

            for _ in 0..<5 {
                let page = try await scene.ann.read("/feed")
                #expect(page.meta.networks[.twitter]?.code == 401)
                // Nothing is to be had there until somebody does something.
                #expect(page.meta.next == nil)
            }
            let state = try await scene.ann.ask(.get, "/networks").json["networks"].array
                .first { $0["network"].string == "twitter" }?["state"].string
            let renewals = network.asked.value.filter { $0.hasPrefix("renew") }
            network.renewing.change { $0 = .renews }
            try await scene.ann.link(.twitter, "ann again")

            #expect(state == "reauthenticate")
            #expect(renewals.count == 1)
            #expect(try await scene.ann.read("/feed").meta.networks[.twitter]?.code == 200)
        }
    }

    @Test func twoInstancesRenewOnce() async throws {
        let networks = MemoryNetworks()
        try await withSocial(networks) { scene in
            networks[.twitter].renewing.change { $0 = .renews }
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await scene.another { other in
                let one = scene.ann
                let two = try await Person(one.id, at: other, scene.keys)
                // Time enough for the other to find the tokens due too.
                networks[.twitter].beforeRenewal.change { $0 = { try await Task.sleep(for: .milliseconds(300)) } }

                async let first = one.read("/feed")
                async let second = two.read("/feed")
                let codes = try await [first, second].map { $0.meta.networks[.twitter]?.code }

                #expect(codes == [200, 200])
                #expect(networks[.twitter].asked.value.filter { $0.hasPrefix("renew") } == ["renew ann"])
            }
        }
    }

    @Test func aRenewalThatHangsHoldsUpNobody() async throws {
        try await withSocial(settings: ["SOCIAL_DEADLINE_MS": "2000"]) { scene in
            let network = scene.networks[.twitter]
            network.renewing.change { $0 = .renews }
            let hanging = Shared(0)
            network.beforeRenewal.change {
                $0 = {
                    hanging.change { $0 += 1 }
                    defer { hanging.change { $0 -= 1 } }
                    try await Task.sleep(for: .seconds(60))
                }
            }
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await scene.link(.facebook)
            network.fill("ann", times: [2])
            scene.networks[.facebook].fill("ann", times: [1])

            // Answered while the renewal hangs, which is given up after ten seconds; read again where the machine was
            // so slow that the deadline passed.
            try await eventually(within: .seconds(30), "read with tokens that last") {
                let page = try await scene.ann.read("/feed")
                return page.meta.networks[.twitter] == .fine && page.response.items.count == 2 && hanging.value == 1
            }
            scene.clock.advance(by: 200)
            try await eventually(within: .seconds(30), "read without the network whose tokens have ended") {
                let page = try await scene.ann.read("/feed")
                return page.meta.networks[.twitter]?.code == 504 && page.meta.networks[.facebook] == .fine
                    && page.response.items.count == 1 && hanging.value == 1
            }
        }
    }

    @Test func whoCannotRenewKeepsNobodyFromTrying() async throws {
        try await withSocial { scene in
            let network = scene.networks[.twitter]
            try await scene.ann.link(.twitter, "ann", #", "refresh_token": "r1", "expires_in": 100"#)
            try await scene.bob.link(.twitter, "bob")
            network.mood.change { $0.failure = { NetworkHTTPFailure.noAnswer("cut off") } }
            for _ in 0..<Circuits.threshold { _ = try await scene.bob.read("/feed") }
            network.mood.change { $0.failure = nil }
            network.renewing.change { $0 = .fails(NetworkError(.auth, "invalid_grant")) }
            scene.clock.advance(by: 2)

            // The one who may try whether the network is well again.
            let tried = try await scene.ann.read("/feed")
            let after = try await scene.bob.read("/feed")

            #expect(tried.meta.networks[.twitter]?.code == 401)
            #expect(after.meta.networks[.twitter] == .fine)
        }
    }
}
