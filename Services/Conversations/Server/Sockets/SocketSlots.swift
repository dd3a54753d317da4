import Locks
import Wire

/// How many sockets each user has at this instance.
final class SocketSlots: Sendable {
    private let capacity: Int
    private let taken = Lock<[User.ID: Int]>([:])

    init(ofUser capacity: Int) {
        self.capacity = capacity
    }

    /// - Throws: `rateLimited` where the user has as many as he may.
    func take(_ user: User.ID) throws {
        try taken.withLock { taken in
            guard taken[user, default: 0] < capacity else {
                throw APIError(.rateLimited, "too_many_sockets", "you have \(capacity) sockets already")
            }
            taken[user, default: 0] += 1
        }
    }

    func give(_ user: User.ID) {
        taken.withLock { taken in
            let left = taken[user, default: 1] - 1
            taken[user] = left == 0 ? nil : left
        }
    }
}
