import Locks
import Wire

/// How many exports are made at once, in all; one of each person.
final class ExportLimit: Sendable {
    /// One that is taken, for as long as somebody holds it.
    final class Slot: Sendable {
        private let exportLimit: ExportLimit
        private let user: User.ID

        fileprivate init(_ exportLimit: ExportLimit, _ user: User.ID) {
            self.exportLimit = exportLimit
            self.user = user
        }

        deinit {
            _ = exportLimit.taken.withLock { $0.remove(user) }
        }
    }

    private let capacity: Int
    private let taken = Lock<Set<User.ID>>([])

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// - Throws: a 429 where the user has one, a 503 where all are taken.
    func take(_ user: User.ID) throws -> Slot {
        try taken.withLock { taken in
            guard !taken.contains(user) else {
                throw APIError(.rateLimited, "export_in_progress", "an export of yours is being made", retryAfter: 30)
            }
            guard taken.count < capacity else {
                throw APIError(.unavailable, "overloaded", "too many exports are being made; try again", retryAfter: 30)
            }
            taken.insert(user)
        }
        return Slot(self, user)
    }
}
