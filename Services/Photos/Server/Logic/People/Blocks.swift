import Postgres
import Wire

/// The blocks between users, mirrored from conversations, which owns the list.
struct Blocks: Sendable {
    let follows: Follows

    /// Mirrors one entry of the list.
    ///
    /// A block ends both follows permanently. From its commit on, neither user sees the other anywhere. A block may
    /// name users who have never used photos; it applies when they start.
    func set(_ blocker: User.ID, _ blocked: User.ID, isBlocked: Bool, in db: PostgresTransaction) async throws {
        guard blocker != blocked, blocker.application.isExactly(blocked.application) else { return }
        let (people, store) = (PeopleStore(db: db), BlockStore(db: db))
        let blockerID = try await people.ensureRow(blocker)
        let blockedID = try await people.ensureRow(blocked)
        // The lock stops either user from following the other during the transaction.
        guard try await FollowStore(db: db).lock(blockerID, blockedID) else { return }
        guard isBlocked else {
            try await store.delete(blockerID, blockedID)
            return try await recordHomeChanges(blockerID, blockedID, in: db)
        }
        try await store.insert(blockerID, blockedID)
        try await follows.end(blockerID, blockedID, in: db)
        try await follows.end(blockedID, blockerID, in: db)
        try await recordHomeChanges(blockerID, blockedID, in: db)
    }

    private func recordHomeChanges(_ first: Person.ID, _ second: Person.ID, in db: PostgresTransaction) async throws {
        try await PhotoChange.recordHomeChange(of: first, in: db)
        try await PhotoChange.recordHomeChange(of: second, in: db)
    }
}
