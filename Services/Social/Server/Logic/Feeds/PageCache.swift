import Foundation
import Locks
import SocialAPI

/// A cache of network pages that a scroll has not used up, so that they are not requested again.
///
/// A missing page is simply requested again. The key includes the tokens and their owner, so that a user never receives
/// another user's page.
final class PageCache: Sendable {
    struct Key: Hashable, Sendable {
        var source: String
        var list: String
        var page: NetworkCursor?
        var includesRaw: Bool
    }

    private struct Entry {
        var page: NetworkPage
        var until: ContinuousClock.Instant
    }

    /// Two generations: when the young one has half of the maximum weight, it becomes the old one.
    private struct Generations {
        var young: [Key: Entry] = [:]
        var old: [Key: Entry] = [:]
        var weight = 0
    }

    /// The maximum weight of a cached page in bytes; a few larger pages would leave no room for others.
    private static let maximumWeight = 262_144

    private let generations = Lock(Generations())
    private let capacity: Int
    private let lifetime: Duration

    /// - Parameters:
    ///   - capacity: The maximum weight of all pages, in bytes.
    ///   - lifetime: The time for which a page is valid.
    init(capacity: Int = 8_388_608, lifetime: Duration = .seconds(120)) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    subscript(key: Key) -> NetworkPage? {
        generations.withLock { generations in
            guard let entry = generations.young[key] ?? generations.old[key], entry.until > .now else { return nil }
            return entry.page
        }
    }

    func insert(_ page: NetworkPage, for key: Key) {
        // Items with the network's original JSON are many times as large.
        guard !key.includesRaw else { return }
        let weight = page.weight
        guard weight <= Self.maximumWeight else { return }
        // The budget is only valid at the time of the response.
        let entry = Entry(page: NetworkPage(page.items, next: page.next), until: .now + lifetime)
        generations.withLock { generations in
            if generations.weight + weight > capacity / 2 {
                (generations.old, generations.young, generations.weight) = (generations.young, [:], 0)
            }
            // A replaced entry is counted twice, which only makes the generation change earlier.
            generations.young[key] = entry
            generations.weight += weight
        }
    }
}
