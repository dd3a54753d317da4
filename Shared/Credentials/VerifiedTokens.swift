import Foundation
import Synchronization

/// Tokens that were verified before, so that a signature is checked once in a token's life; bounded.
///
/// Two generations: when the young one is full it becomes the old one, and what is still in use moves over at its next
/// hit. Keyed by the whole token: no two texts share an entry.
final class VerifiedTokens: Sendable {
    private struct Generations {
        var young: [String: Identity] = [:]
        var old: [String: Identity] = [:]
    }

    private let generations = Mutex(Generations())
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    subscript(token: String) -> Identity? {
        generations.withLock { generations in
            if let identity = generations.young[token] { return identity }
            guard let identity = generations.old.removeValue(forKey: token) else { return nil }
            insert(identity, for: token, into: &generations)
            return identity
        }
    }

    func insert(_ identity: Identity, for token: String) {
        generations.withLock { insert(identity, for: token, into: &$0) }
    }

    func remove(_ token: String) {
        generations.withLock { generations in
            generations.young[token] = nil
            generations.old[token] = nil
        }
    }

    func removeAll() {
        generations.withLock { $0 = Generations() }
    }

    private func insert(_ identity: Identity, for token: String, into generations: inout Generations) {
        if generations.young.count >= capacity / 2 {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[token] = identity
    }
}
