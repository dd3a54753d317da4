import Locks

/// An item that belongs to one person, identified by number.
protocol OwnedItem: Sendable {
    var owner: Int { get }
}

/// The pending uploads of people, under increasing ids.
///
/// A person can find only their own.
final class OwnedItems<Item: OwnedItem>: Sendable {
    private let items: Lock<(all: [Int64: Item], last: Int64)>

    /// - Parameter id: the number before the first id. The ids of networks have many digits.
    init(after id: Int64) { items = Lock(([:], id)) }

    func add(_ item: Item) -> Int64 {
        items.withLock { items in
            items.last += 1
            items.all[items.last] = item
            return items.last
        }
    }

    func find(_ id: Int64, of owner: Int) -> Item? {
        items.withLock { $0.all[id] }.flatMap { $0.owner == owner ? $0 : nil }
    }

    func change(_ id: Int64, _ body: (inout Item) -> Void) {
        items.withLock { items in
            guard var item = items.all[id] else { return }
            // Removing the item first leaves one reference, so that the change does not copy its bytes.
            items.all[id] = nil
            body(&item)
            items.all[id] = item
        }
    }
}
