import Locks
import Wire

/// The limit of each user's sockets at this instance.
final class SocketLimit: Sendable {
    private let capacity: Int
    private let counts = Lock<[User.ID: Int]>([:])

    init(ofUser capacity: Int) {
        self.capacity = capacity
    }

    /// - Throws: `rateLimited` when the user has the maximum number of sockets.
    func acquire(_ user: User.ID) throws {
        try counts.withLock { counts in
            guard counts[user, default: 0] < capacity else {
                throw APIError(.rateLimited, "too_many_sockets", "a user may have at most \(capacity) sockets")
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
