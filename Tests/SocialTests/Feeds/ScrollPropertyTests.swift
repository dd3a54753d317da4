import Foundation
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

@Suite("Random scrolls") struct ScrollPropertyTests {
    /// The seeds; `SCROLL_SEEDS` sets another number.
    private static let seeds = 0..<(Int(ProcessInfo.processInfo.environment["SCROLL_SEEDS"] ?? "") ?? 24)

    @Test("A scroll returns every item once and in order, despite failures and empty pages", arguments: seeds)
    func completeness(seed: Int) async throws {
        try await withSocial { fixture in
            for round in 0..<6 {
                var scroll = RandomScroll(fixture, seed: UInt64(seed * 100 + round))
                try await scroll.run()
            }
        }
    }

    @Test("A scroll of 10,000 items has short cursors and requests each page once")
    func longScroll() async throws {
        try await withSocial { fixture in
            for network in fixture.networks.all {
                network.fill("ann", times: (0..<2_000).map { -7 * $0 }, named: network.network.rawValue)
                network.behavior.change { $0.pageSize = 100 }
            }
            let meta = Dictionary(uniqueKeysWithValues: fixture.networks.all.map { ($0.network, "ann") })

            var (cursor, count, longest) = (String?.none, 0, 0)
            repeat {
                let page = try await fixture.ann.read("/scroll/feed", cursor: cursor, limit: 100, meta: meta)
                count += page.response.items.count
                cursor = page.meta.next
                longest = max(longest, cursor?.count ?? 0)
            } while cursor != nil

            #expect(count == 10_000)
            // The cursor covers five networks and has to fit into a URL.
            #expect(longest < 3_000)
            // Each page of a network is requested once, because unused items are cached.
            let asked = fixture.networks.all.map { $0.asked.value.count }
            #expect(asked.allSatisfy { $0 <= 22 }, "\(asked)")
        }
    }
}

/// A scroll over networks with random lists and behavior.
private struct RandomScroll {
    private let fixture: SocialFixture
    private let name: String
    private var random: SeededGenerator
    private var expected: Set<ItemID> = []
    private var given: [Item] = []
    private let isFailing: Bool
    private let isGrowing: Bool

    init(_ fixture: SocialFixture, seed: UInt64) {
        self.fixture = fixture
        name = "scroll-\(seed)"
        random = SeededGenerator(seed: seed)
        isFailing = Bool.random(using: &random)
        isGrowing = Bool.random(using: &random)
    }

    mutating func run() async throws {
        for network in fixture.networks.all { prepare(network) }
        let meta = Dictionary(uniqueKeysWithValues: fixture.networks.all.map { ($0.network, name) })
        var (cursor, pages) = (String?.none, 0)
        repeat {
            // Failures end after a while, even if circuits are still open.
            if pages == 25 { for network in fixture.networks.all { network.behavior.change { $0.failure = nil } } }
            let limit = Int.random(in: 1...30, using: &random)
            let path = cursor == nil ? "/feed" : "/scroll/feed"
            let page = try await fixture.ann.read(path, cursor: cursor, limit: limit, meta: meta)
            #expect(page.response.items.count <= limit)
            try check(page.response.items)
            given += page.response.items
            cursor = page.meta.next
            pages += 1
            fixture.clock.advance(by: 100)
            if isGrowing, pages < 20 { grow() }
        } while cursor != nil && pages < 500
        #expect(cursor == nil, "the scroll must end: \(name)")
        checkAll()
    }

    private mutating func prepare(_ network: MemoryNetwork) {
        let count = Int.random(in: 0...60, using: &random)
        // There are fewer times than items, so some items have equal times.
        let times = (0..<count).map { _ in Int.random(in: 0...200, using: &random) }.sorted(by: >)
        network.fill(name, times: times)
        expected.formUnion((network.lists.value[name] ?? []).map(\.item.id))
        let failures = isFailing ? Int.random(in: 0...60, using: &random) : 0
        network.behavior.change { behavior in
            behavior.paging = MemoryNetwork.Paging.allCases.randomElement(using: &random) ?? .after
            behavior.pageSize = Int.random(in: 1...25, using: &random)
            behavior.emptyPages = Int.random(in: 0...30, using: &random)
            behavior.repeatedEmptyPages = Int.random(in: 0...20, using: &random)
            behavior.failure = { Self.failure(failures) }
        }
    }

    private static func failure(_ chance: Int) -> (any Error)? {
        guard chance > Int.random(in: 0..<100) else { return nil }
        return switch Int.random(in: 0..<4) {
        case 0: NetworkError(.transient, "unavailable")
        case 1: NetworkError(.rateLimited(until: nil), "too much")
        case 2: NetworkHTTPFailure.noAnswer("cut off")
        default: DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "an HTML page"))
        }
    }

    /// Adds an item that is newer than all others.
    private mutating func grow() {
        guard let network = fixture.networks.all.randomElement(using: &random) else { return }
        network.lists.change { lists in
            let count = lists[name]?.count ?? 0
            lists[name, default: []].insert(network.item("\(name)-new-\(count)", at: 1_000 + count), at: 0)
        }
    }

    /// Expects that the items of a page that existed when the scroll began are sorted, newest first.
    ///
    /// New items may shift a list that is read by offset, so they are ignored.
    private func check(_ items: [Item]) throws {
        let items = items.filter { !$0.id.native.contains("-new-") }
        #expect(zip(items, items.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt }, "\(name)")
    }

    private func checkAll() {
        let ids = given.map(\.id)
        #expect(Set(ids).count == ids.count, "no item may be repeated: \(name)")
        let skipped = expected.subtracting(ids)
        #expect(skipped.isEmpty, "no item may be skipped: \(name) \(skipped)")
        if !isGrowing { #expect(ids.count == expected.count, "no other item may appear: \(name)") }
        guard !isFailing, !isGrowing else { return }
        #expect(
            zip(given, given.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt },
            "items must be sorted: \(name)"
        )
    }
}
