import Foundation
import Postgres
import ServiceHost

/// What others were to be told of somebody who is gone: the words of those notifications, which name him, go too.
///
/// No index finds them, since every notification would pay for it: all are looked through, a few thousand at a time. Each step
/// may be done twice.
struct DeletedUserMentions: Sendable {
    let database: PostgresPool
    let now: @Sendable () -> Date
    var batch = 5_000

    /// Until there is none; then it is true.
    func removeData(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        var last: Int64? = 0
        while let key = last {
            last = try await UserDeletionStore(db: database)
                .removeData(sender: unconfirmedDeletion.user, after: key, limit: batch, at: now())
        }
        return true
    }
}
