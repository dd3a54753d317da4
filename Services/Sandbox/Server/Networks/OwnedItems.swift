import Locks

/// What is somebody's, by his number.
protocol OwnedItem: Sendable {
    var owner: Int { get }
}

/// What people have begun to upload, under ids that count up; each sees his own alone.
final class OwnedItems<Item: OwnedItem>: Sendable {
    private let known: Lock<(all: [Int64: Item], last: Int64)>

    /// - Parameter id: behind which they begin: networks' ids have many digits.
    init(after id: Int64) { known = Lock(([:], id)) }

    func add(_ item: Item) -> Int64 {
        known.withLock { known in
            known.last += 1
            known.all[known.last] = item
            return known.last
        }
    }

    func find(_ id: Int64, of owner: Int) -> Item? {
        known.withLock { $0.all[id] }.flatMap { $0.owner == owner ? $0 : nil }
    }

    func change(_ id: Int64, _ body: (inout Item) -> Void) {
        known.withLock { known in
            guard var item = known.all[id] else { return }
            // Not held twice while it is changed: its bytes would be copied.
            known.all[id] = nil
            body(&item)
            known.all[id] = item
        }
    }
}
