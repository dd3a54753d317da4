import Locks
package import Wire

/// The limits of concurrent uploads, in requests and in bytes, per user and in total.
package final class UploadConcurrencyLimit: Sendable {
    /// The uploads in progress at one instance of conversations or photos.
    ///
    /// Each takes about half a megabyte, so that all of them take a quarter of the 512 MB that compose gives to
    /// conversations.
    package static let uploads = 256
    /// The uploads in progress of one user: more than the six connections that a browser opens to one host, and few
    /// enough that 32 users are needed to use up all of ``uploads``.
    package static let uploadsOfUser = 8

    private struct Usage {
        var requests = 0
        var bytes = 0
    }

    private struct State {
        var all = Usage()
        var byUser: [User.ID: Usage] = [:]
    }

    private let capacity: Int
    private let capacityOfUser: Int
    private let bytes: Int
    private let bytesOfUser: Int
    private let state = Lock(State())

    package init(capacity: Int = .max, ofUser capacityOfUser: Int = .max, bytes: Int = .max, bytesOfUser: Int = .max) {
        self.capacity = capacity
        self.capacityOfUser = capacityOfUser
        self.bytes = bytes
        self.bytesOfUser = bytesOfUser
    }

    package var activeCount: Int { state.withLock(\.all.requests) }

    /// Runs `body` while the request counts towards the limits.
    ///
    /// - Parameters:
    ///   - user: the sender; nil if unknown, then only the total limits apply.
    ///   - bytes: the memory that the request may hold.
    ///   - body: the work of the request.
    /// - Returns: the value of `body`.
    /// - Throws: `too_many_uploads` if the user's limit is reached, `overloaded` if a total limit is reached, or the
    ///   error of `body`.
    package func use<Value>(_ user: User.ID?, bytes: Int = 0, _ body: () async throws -> Value) async throws -> Value {
        try acquire(user, bytes)
        defer { release(user, bytes) }
        return try await body()
    }

    private func acquire(_ user: User.ID?, _ size: Int) throws {
        try state.withLock { state in
            let own = user.map { state.byUser[$0, default: Usage()] }
            if let own, own.requests >= capacityOfUser || size > bytesOfUser - own.bytes {
                let active = own.requests >= capacityOfUser ? "\(capacityOfUser) files" : "\(own.bytes) bytes"
                let message = "you are already uploading \(active); wait until an upload has finished"
                throw APIError(.rateLimited, "too_many_uploads", message)
            }
            guard state.all.requests < capacity, size <= bytes - state.all.bytes else {
                throw APIError(.unavailable, "overloaded", "too many uploads are in progress; try again")
            }
            state.all.requests += 1
            state.all.bytes += size
            guard let user, let own else { return }
            state.byUser[user] = Usage(requests: own.requests + 1, bytes: own.bytes + size)
        }
    }

    private func release(_ user: User.ID?, _ size: Int) {
        state.withLock { state in
            state.all.requests -= 1
            state.all.bytes -= size
            guard let user, let own = state.byUser[user] else { return }
            let left = Usage(requests: own.requests - 1, bytes: own.bytes - size)
            state.byUser[user] = left.requests > 0 ? left : nil
        }
    }
}
