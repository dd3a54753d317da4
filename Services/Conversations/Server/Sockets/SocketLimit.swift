import Locks
import Wire

/// How many sockets each user has at this instance.
final class SocketLimit: Sendable {
    private let capacity: Int
    private let counts = Lock<[User.ID: Int]>([:])

    init(ofUser capacity: Int) {
        self.capacity = capacity
    }

    /// - Throws: `rateLimited` where the user has as many as he may.
    func acquire(_ user: User.ID) throws {
        try counts.withLock { counts in
            guard counts[user, default: 0] < capacity else {
                throw APIError(.rateLimited, "too_many_sockets", "you have \(capacity) sockets already")
            }
            counts[user, default: 0] += 1
        }
    }

    func release(_ user: User.ID) {
        counts.withLock { counts in
            let left = counts[user, default: 1] - 1
            counts[user] = left == 0 ? nil : left
        }
    }
}
