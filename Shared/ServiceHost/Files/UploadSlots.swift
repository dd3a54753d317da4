import Locks
package import Wire

/// How many files are on their way at once, in all and of one sender; who comes past that is asked to wait.
package final class UploadSlots: Sendable {
    private struct State {
        var taken = 0
        var byUser: [User.ID: Int] = [:]
    }

    private let capacity: Int
    private let capacityOfUser: Int
    private let state = Lock(State())

    package init(capacity: Int, ofUser capacityOfUser: Int) {
        self.capacity = capacity
        self.capacityOfUser = capacityOfUser
    }

    package var taken: Int { state.withLock(\.taken) }

    /// Runs `body` in a slot.
    ///
    /// - Throws: `rateLimited` where the user has too many of them, `unavailable` where all are taken.
    package func use<Value>(_ user: User.ID, _ body: () async throws -> Value) async throws -> Value {
        try take(user)
        defer { give(user) }
        return try await body()
    }

    private func take(_ user: User.ID) throws {
        try state.withLock { state in
            guard state.byUser[user, default: 0] < capacityOfUser else {
                throw APIError(.rateLimited, "too_many_uploads", "you are sending \(capacityOfUser) files already")
            }
            guard state.taken < capacity else {
                throw APIError(.unavailable, "busy", "too many files are being sent; try again")
            }
            state.taken += 1
            state.byUser[user, default: 0] += 1
        }
    }

    private func give(_ user: User.ID) {
        state.withLock { state in
            state.taken -= 1
            let left = state.byUser[user, default: 1] - 1
            state.byUser[user] = left == 0 ? nil : left
        }
    }
}
