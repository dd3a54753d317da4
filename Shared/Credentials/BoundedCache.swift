import Locks

/// A cache with a bounded number of entries, keyed by text.
///
/// It has two generations. When the young generation is full, it becomes the old one, and entries that are still used
/// move over at their next hit. The key is the whole text, so entries are never confused.
final class BoundedCache<Value: Sendable>: Sendable {
    private struct Generations {
        var young: [String: Value] = [:]
        var old: [String: Value] = [:]
    }

    private let generations = Lock(Generations())
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(text: String) -> Value? {
        generations.withLock { generations in
            if let value = generations.young[text] { return value }
            guard let value = generations.old.removeValue(forKey: text) else { return nil }
            insert(value, for: text, into: &generations)
            return value
        }
    }

    func insert(_ value: Value, for text: String) {
        generations.withLock { insert(value, for: text, into: &$0) }
    }

    func remove(_ text: String) {
        generations.withLock { generations in
            generations.young[text] = nil
            generations.old[text] = nil
        }
    }

    func removeAll() {
        generations.withLock { $0 = Generations() }
    }

    private func insert(_ value: Value, for text: String, into generations: inout Generations) {
        if generations.young.count >= capacity / 2 {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[text] = value
    }
}
