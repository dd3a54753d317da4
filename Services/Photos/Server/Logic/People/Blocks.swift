import Postgres
import Wire

/// Who does not want to see whom, as conversations tells; it keeps the suite's one list.
struct Blocks: Sendable {
    let follows: Follows

    /// Mirrors one entry of the list.
    ///
    /// A block ends both follows for good, and from its commit on each is hidden from the other everywhere. Either may
    /// never have been here: what is blocked now holds when he comes.
    func set(_ blocker: User.ID, _ blocked: User.ID, isBlocked: Bool, in db: PostgresTransaction) async throws {
        guard blocker != blocked, blocker.application.isExactly(blocked.application) else { return }
        let (people, store) = (PeopleStore(db: db), BlockStore(db: db))
        let one = try await people.ensureRow(blocker)
        let other = try await people.ensureRow(blocked)
        // Nobody begins to follow the other meanwhile.
        guard try await FollowStore(db: db).lock(one, other) else { return }
        guard isBlocked else {
            try await store.delete(one, other)
            return try await recordHomeChanges(one, other, in: db)
        }
        try await store.insert(one, other)
        try await follows.end(one, other, in: db)
        try await follows.end(other, one, in: db)
        try await recordHomeChanges(one, other, in: db)
    }

    private func recordHomeChanges(_ one: Person.ID, _ other: Person.ID, in db: PostgresTransaction) async throws {
        try await PhotoChange.recordHomeChange(of: one, in: db)
        try await PhotoChange.recordHomeChange(of: other, in: db)
    }
}
