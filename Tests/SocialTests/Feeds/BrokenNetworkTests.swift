import Foundation
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Failing networks") struct BrokenNetworkTests {
    @Test("The circuit breaker stops requests to a failing network until it recovers")
    func circuitBreaker() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.facebook, "ann")
            let network = fixture.networks[.facebook]
            network.behavior.change { $0.failure = { NetworkHTTPFailure.noAnswer("cut off") } }

            for _ in 0..<20 { _ = try await fixture.ann.read("/feed") }
            let asked = network.asked.value.filter { $0.hasPrefix("feed") }.count
            network.behavior.change { $0.failure = nil }
            fixture.clock.advance(by: 2)
            let after = try await fixture.ann.read("/feed")

            #expect(asked == CircuitBreakers.threshold)
            #expect(after.meta.networks[.facebook] == .ok)
        }
    }

    @Test("A rate limit without a plausible end is retried after the longest wait")
    func longRetryAfter() async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            let network = fixture.networks[.twitter]
            let never = fixture.clock.read().addingTimeInterval(1e9)
            network.behavior.change { $0.failure = { NetworkError(.rateLimited(until: never), "slow down") } }
            _ = try await fixture.ann.read("/feed")
            network.behavior.change { $0.failure = nil }

            let soon = try await fixture.ann.read("/feed")
            fixture.clock.advance(by: CircuitBreakers.longestWait + 1)
            let later = try await fixture.ann.read("/feed")

            #expect(soon.meta.networks[.twitter]?.code == 429)
            #expect(later.meta.networks[.twitter] == .ok)
        }
    }

    @Test("An invalid end of a rate limit is ignored", arguments: [1e300, -1e300, .infinity, .nan])
    func invalidRetryAfter(seconds: Double) async throws {
        try await withSocial { fixture in
            try await fixture.ann.link(.twitter, "ann")
            let network = fixture.networks[.twitter]
            let until = Date(timeIntervalSince1970: seconds)
            network.behavior.change { $0.failure = { NetworkError(.rateLimited(until: until), "slow down") } }
            let limited = try await fixture.ann.read("/feed")
            network.behavior.change { $0.failure = nil }
            fixture.clock.advance(by: 61)

            #expect(limited.meta.networks[.twitter]?.code == 429)
            #expect(limited.meta.networks[.twitter]?.retryAt == nil)
            #expect(try await fixture.ann.read("/feed").meta.networks[.twitter] == .ok)
        }
    }

    @Test("A network that repeats an empty page does not block the scroll")
    func emptyPages() async throws {
        try await withSocial { fixture in
            try await fixture.link(.facebook, .twitter)
            fixture.networks[.facebook].fill("ann", times: [2, 1])
            fixture.networks[.twitter].fill("ann", times: [9, 8, 7])
            fixture.networks[.twitter].behavior.change { behavior in
                behavior.pageSize = 1
                behavior.repeatedEmptyPages = 100
            }

            var (cursor, pages, items) = (String?.none, 0, [String]())
            repeat {
                let page = try await fixture.ann.read("/scroll/feed", cursor: cursor)
                items += page.response.items.map(\.id.native)
                (cursor, pages) = (page.meta.next, pages + 1)
            } while cursor != nil && pages < 10

            // The scroll has the newest page of Twitter and all of Facebook, and then ends.
            #expect(items == ["ann-0", "ann-0", "ann-1"])
            #expect(cursor == nil)
        }
    }
}
