package import Foundation
import Hummingbird
import Locks
package import Postgres
import Wire

/// The running request, if it has an `Idempotency-Key`; used by handlers that create something.
///
/// The response is stored when the request is done. If the process crashes earlier, or the outcome of a commit is
/// unknown, a retry would create a duplicate. A handler prevents that in one of two ways. It stores the response in the
/// transaction that creates the object, or it derives the object's id from ``token`` and finds it again.
package final class IdempotentRequest: Sendable {
    @TaskLocal package static var current: IdempotentRequest?

    /// The token of the request, which stays the same for retries until there is a response; the handler derives ids
    /// from it.
    package var token: UUID {
        isRepeatable.withLock { $0 = true }
        return ownToken
    }

    private let ownToken: UUID
    /// Whether a repeated request finds the objects that it created before.
    let isRepeatable = Lock(false)
    /// Whether the request changed nothing, so that its response is not stored.
    let isReadOnly = Lock(false)
    let entry: IdempotencyStore.Entry
    /// The response body that `keep` stored.
    let storedBody = Lock<[UInt8]?>(nil)

    init(token: UUID, entry: IdempotencyStore.Entry) {
        ownToken = token
        self.entry = entry
    }

    /// Marks the current request as read-only: its response is not stored, and its key is deleted.
    package static func markReadOnly() {
        current?.isReadOnly.withLock { $0 = true }
    }

    /// Marks the current request as repeatable, because it finds its objects by an id that the client chose.
    package static func markRepeatable() {
        current?.isRepeatable.withLock { $0 = true }
    }

    /// Stores the response as JSON with status 200; does nothing if the current request has no key.
    ///
    /// - Parameters:
    ///   - answer: the response.
    ///   - db: the transaction that creates the object.
    /// - Returns: the response.
    /// - Throws: `request_in_progress` if the same request was started again meanwhile; a `PostgresError`.
    package static func keep<Output: Encodable & Sendable>(
        _ answer: Output,
        in db: PostgresTransaction
    ) async throws -> Output {
        if let current {
            let body = Array(try WireJSON.encoder().encode(answer))
            let store = IdempotencyStore(db: db)
            // If the request took so long that it was started again, this run must have no effect.
            guard try await store.finish(current.entry, status: 200, contentType: Response.jsonType, body: body) else {
                throw APIError.inProgress
            }
            current.storedBody.withLock { $0 = body }
        }
        return answer
    }
}
