import Foundation
import Postgres
import ServiceHost

/// Removes the text of other users' notifications that names a deleted user.
///
/// An index of mentions would slow every notification down, so all rows are scanned in batches. Each step can be
/// repeated.
struct DeletedUserMentions: Sendable {
    let database: PostgresPool
    let now: @Sendable () -> Date
    var batch = 5_000

    func removeData(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        var last: Int64? = 0
        while let key = last {
            last = try await UserDeletionStore(db: database)
                .removeText(mentioning: unconfirmedDeletion.user, after: key, limit: batch, at: now())
        }
        return true
    }
}
