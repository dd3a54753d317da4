import Foundation
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// Networks that fail, lie or give nothing: left alone for as long as it takes, and in nobody's way.
@Suite struct BrokenNetworkTests {
    @Test func aBrokenNetworkIsLeftAloneForAWhile() async throws {
        try await withSocial { scene in
            try await scene.ann.link(.facebook, "ann")
            let network = scene.networks[.facebook]
            network.mood.change { $0.failure = { NetworkHTTPFailure.noAnswer("cut off") } }

            for _ in 0..<20 { _ = try await scene.ann.read("/feed") }
            let asked = network.asked.value.filter { $0.hasPrefix("feed") }.count
            network.mood.change { $0.failure = nil }
            scene.clock.advance(by: 2)
            let after = try await scene.ann.read("/feed")

            #expect(asked == Circuits.threshold)
            #expect(after.meta.networks[.facebook] == .fine)
        }
    }

    @Test func whatANetworkSaysOfTimesToComeIsBelievedWithinReason() async throws {
        try await withSocial { scene in
            try await scene.ann.link(.twitter, "ann")
            let network = scene.networks[.twitter]
            let never = scene.clock.read().addingTimeInterval(1e9)
            network.mood.change { $0.failure = { NetworkError(.rateLimited(until: never), "slow down") } }
            _ = try await scene.ann.read("/feed")
            network.mood.change { $0.failure = nil }

            let soon = try await scene.ann.read("/feed")
            scene.clock.advance(by: Circuits.longestWait + 1)
            let later = try await scene.ann.read("/feed")

            #expect(soon.meta.networks[.twitter]?.code == 429)
            #expect(later.meta.networks[.twitter] == .fine)
        }
    }

    @Test(arguments: [1e300, -1e300, .infinity, .nan])
    func aNetworkThatNamesNoTimeOfThisWorldIsAskedAgain(seconds: Double) async throws {
        try await withSocial { scene in
            try await scene.ann.link(.twitter, "ann")
            let network = scene.networks[.twitter]
            let until = Date(timeIntervalSince1970: seconds)
            network.mood.change { $0.failure = { NetworkError(.rateLimited(until: until), "slow down") } }
            let told = try await scene.ann.read("/feed")
            network.mood.change { $0.failure = nil }
            scene.clock.advance(by: 61)

            #expect(told.meta.networks[.twitter]?.code == 429 && told.meta.networks[.twitter]?.retryAt == nil)
            #expect(try await scene.ann.read("/feed").meta.networks[.twitter] == .fine)
        }
    }

    @Test func aNetworkOfEmptyPagesHoldsUpNobody() async throws {
        try await withSocial { scene in
            try await scene.link(.facebook, .twitter)
            scene.networks[.facebook].fill("ann", times: [2, 1])
            scene.networks[.twitter].fill("ann", times: [9, 8, 7])
            scene.networks[.twitter].mood.change { mood in
                mood.pageSize = 1
                mood.voids = 100
            }

            var (cursor, pages, items) = (String?.none, 0, [String]())
            repeat {
                let page = try await scene.ann.read("/scroll/feed", cursor: cursor)
                items += page.response.items.map(\.id.native)
                (cursor, pages) = (page.meta.next, pages + 1)
            } while cursor != nil && pages < 10

            // The newest page of the one, and all of the other; then it is believed that there is no more.
            #expect(items == ["ann-0", "ann-0", "ann-1"])
            #expect(cursor == nil)
        }
    }
}
