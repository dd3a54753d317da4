package import Foundation
import Hummingbird
import Locks
package import Postgres
import Wire

/// The request under way, where it came with an `Idempotency-Key`: for those who make something of it.
///
/// Its answer is kept when it is done. In between the process may die, or a commit end with nobody knowing how, and what
/// was made would be made again when the request comes again. So whoever makes something either keeps the answer in the
/// transaction that makes it, or has it found again by an id of `token`.
package final class IdempotentRequest: Sendable {
    @TaskLocal package static var current: IdempotentRequest?

    /// The same whenever the request comes again, until it is answered: what is made with it is found again.
    package var token: UUID {
        isRepeatable.withLock { $0 = true }
        return ownToken
    }

    private let ownToken: UUID
    /// Whether the request may run again and finds what it has made.
    let isRepeatable = Lock(false)
    /// Whether the request changed nothing, so that its response is not kept.
    let isReadOnly = Lock(false)
    let entry: IdempotencyStore.Entry
    /// What `keep` has written.
    let storedBody = Lock<[UInt8]?>(nil)

    init(token: UUID, entry: IdempotencyStore.Entry) {
        ownToken = token
        self.entry = entry
    }

    /// Says that the request under way only reads: its response is not kept, and its key is forgotten.
    package static func markReadOnly() {
        current?.isReadOnly.withLock { $0 = true }
    }

    /// Says that the request under way finds what it has made by an id of the client's.
    package static func markRepeatable() {
        current?.isRepeatable.withLock { $0 = true }
    }

    /// Keeps what will be answered, as JSON with the status 200; does nothing where the request under way has no key.
    ///
    /// - Parameters:
    ///   - answer: the answer.
    ///   - db: the transaction that makes what it tells of.
    /// - Returns: the same answer.
    /// - Throws: `conflict` where the same request was begun again meanwhile; `PostgresError`.
    package static func keep<Output: Encodable & Sendable>(
        _ answer: Output,
        in db: PostgresTransaction
    ) async throws -> Output {
        if let current {
            let body = Array(try WireJSON.encoder().encode(answer))
            let store = IdempotencyStore(db: db)
            // Where it took so long that it has been begun again, this one makes nothing.
            guard try await store.finish(current.entry, status: 200, contentType: Response.jsonType, body: body) else {
                throw APIError.inProgress
            }
            current.storedBody.withLock { $0 = body }
        }
        return answer
    }
}
