import Locks
import Wire

/// The limit of concurrent exports: `capacity` in total, and one per user.
final class ExportLimit: Sendable {
    /// A reserved export, released when its last reference goes out of scope.
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

    /// Reserves an export.
    ///
    /// - Throws: a 429 if the user's export is running, a 503 if all slots are in use.
    func take(_ user: User.ID) throws -> Slot {
        try taken.withLock { taken in
            guard !taken.contains(user) else {
                throw APIError(.rateLimited, "export_in_progress", "your export is already running", retryAfter: 30)
            }
            guard taken.count < capacity else {
                throw APIError(
                    .unavailable,
                    "overloaded",
                    "too many exports are running; try again later",
                    retryAfter: 30
                )
            }
            taken.insert(user)
        }
        return Slot(self, user)
    }
}
