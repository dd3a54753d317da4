import Foundation
import SocialAPI
import TestSupport
import Testing
import Wire

@testable import SocialServer

/// Whatever the lists, pages and failures: a scroll gives everything that was there, in order and once.
@Suite struct ScrollPropertyTests {
    /// So many of them: `SCROLL_SEEDS` for more.
    private static let seeds = 0..<(Int(ProcessInfo.processInfo.environment["SCROLL_SEEDS"] ?? "") ?? 24)

    @Test(arguments: seeds)
    func completeness(seed: Int) async throws {
        try await withSocial { fixture in
            for round in 0..<6 {
                var scroll = RandomScroll(fixture, seed: UInt64(seed * 100 + round))
                try await scroll.run()
            }
        }
    }

    @Test func longScroll() async throws {
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
            // Of five networks; it has to fit into an address.
            #expect(longest < 3_000)
            // Each page of a network is asked for once; what is left of it is kept.
            let asked = fixture.networks.all.map { $0.asked.value.count }
            #expect(asked.allSatisfy { $0 <= 22 }, "\(asked)")
        }
    }
}

/// One scroll over networks whose lists and moods are chance's.
private struct RandomScroll {
    private let fixture: Fixture
    private let name: String
    private var random: SeededGenerator
    private var expected: Set<ItemID> = []
    private var given: [Item] = []
    private let isFailing: Bool
    private let isGrowing: Bool

    init(_ fixture: Fixture, seed: UInt64) {
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
            // Well again after a while, whatever the circuits think of it.
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
        #expect(cursor == nil, "a scroll ends: \(name)")
        checkAll()
    }

    private mutating func prepare(_ network: MemoryNetwork) {
        let count = Int.random(in: 0...60, using: &random)
        // Few moments for many items, so that some fall together.
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
        case 0: NetworkError(.transient, "it is not well")
        case 1: NetworkError(.rateLimited(until: nil), "too much")
        case 2: NetworkHTTPFailure.noAnswer("cut off")
        default: DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "an HTML page"))
        }
    }

    /// Somebody posts, newer than all there is.
    private mutating func grow() {
        guard let network = fixture.networks.all.randomElement(using: &random) else { return }
        network.lists.change { lists in
            let count = lists[name]?.count ?? 0
            lists[name, default: []].insert(network.item("\(name)-new-\(count)", at: 1_000 + count), at: 0)
        }
    }

    /// Within a page always the newest first, of what was there when the scroll began.
    ///
    /// What was posted meanwhile may have moved a list that is read by places so far that it is on a page that comes now;
    /// it stands where it was found.
    private func check(_ items: [Item]) throws {
        let items = items.filter { !$0.id.native.contains("-new-") }
        #expect(zip(items, items.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt }, "\(name)")
    }

    private func checkAll() {
        let ids = given.map(\.id)
        #expect(Set(ids).count == ids.count, "nothing twice: \(name)")
        #expect(expected.subtracting(ids).isEmpty, "nothing is skipped: \(name) \(expected.subtracting(ids))")
        if !isGrowing { #expect(ids.count == expected.count, "nothing else: \(name)") }
        guard !isFailing, !isGrowing else { return }
        #expect(zip(given, given.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt }, "in order: \(name)")
    }
}
