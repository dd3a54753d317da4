import Foundation
import Locks
import SocialAPI

/// Pages of networks that somebody's scroll has not used up yet, so that they need not be asked for again.
///
/// Only a saving: what is not here is asked for once more. Keyed by the account's tokens and their owner, so nobody is
/// ever given another's.
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

    /// Two generations: when the young one weighs half of what there may be it becomes the old one.
    private struct Generations {
        var young: [Key: Entry] = [:]
        var old: [Key: Entry] = [:]
        var weight = 0
    }

    /// A page that weighs more, in bytes, is asked for again: a few of those would leave no room for others.
    private static let maximumWeight = 262_144

    private let generations = Lock(Generations())
    private let capacity: Int
    private let lifetime: Duration

    /// - Parameters:
    ///   - capacity: what all pages weigh at most, in bytes, about.
    ///   - lifetime: how long a page counts.
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
        // Items with all that the network said of them are many times as large.
        guard !key.includesRaw else { return }
        let weight = page.weight
        guard weight <= Self.maximumWeight else { return }
        // Its budget is of the moment.
        let entry = Entry(page: NetworkPage(page.items, next: page.next), until: .now + lifetime)
        generations.withLock { generations in
            if generations.weight + weight > capacity / 2 {
                (generations.old, generations.young, generations.weight) = (generations.young, [:], 0)
            }
            // One that takes another's place is counted twice, which only makes room sooner.
            generations.young[key] = entry
            generations.weight += weight
        }
    }
}
