import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// The deletion of users who deleted their accounts.
///
/// The event's transaction removes the name and the avatar. Background work then deletes the posts and their files,
/// comments, likes and follows, and last the user's row. The counters of other users are corrected.
///
/// The work runs in small batches. Each step is idempotent, so several instances may run it, and an interrupted step is
/// repeated.
struct PersonDeletions: Sendable {
    let database: PostgresPool
    let links: MediaLinks
    let follows: Follows
    let setAside: SetAside
    let now: @Sendable () -> Date
    var batch = 100

    /// Starts a deletion in the transaction that records the event; returns nil for a user who never used photos.
    func begin(_ deleted: UserDeleted, _ event: Event, in db: PostgresTransaction) async throws -> Person.ID? {
        try await PersonDeletionStore(db: db).insert(deleted.user, at: event.at)
    }

    /// Returns whether the user's row, deleted posts and files are all removed.
    func isDeleted(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        guard let number = unconfirmedDeletion.number else { return true }
        return try await !PersonDeletionStore(db: database).hasRemainingData(Person.ID(number))
    }

    /// Deletes the users of a deleted application in batches, like users who were deleted individually.
    ///
    /// Each call processes at most ten batches.
    ///
    /// - Returns: True if nothing of the application is left.
    func deleteApplicationData(_ application: String) async throws -> Bool {
        for _ in 0..<10 {
            let started = try await database.transaction { db in
                try await PersonDeletionStore(db: db).insert(allOf: application, at: now(), limit: batch)
            }
            guard started == batch else { break }
        }
        guard try await PersonDeletionStore(db: database).isDeleted(application) else { return false }
        // The remaining rows contain no user: hashtags, change counters, and references of deleted posts.
        return try await ApplicationRowDeletion(PersonDeletionStore<PostgresPool>.tables, database: database).erase(
            application
        )
    }

    /// Runs pending deletions until none is due.
    ///
    /// A deletion that fails is retried later and does not delay others.
    func clear() async throws {
        let store = PersonDeletionStore(db: database)
        while let person = try await store.next(at: now()) {
            try await setAside.each([person], of: .personDeletion, key: { ["\($0.rawValue)"] }, clear)
        }
    }

    private func clear(_ person: Person.ID) async throws {
        try await DeletedUserContent(database: database, links: links, batch: batch).clear(person)
        try await endFollows(of: person)
        // A concurrent request of this user may hold a foreign key to the row; then a later run removes the row.
        try await database.transaction { db in
            try await UploadStore(db: db).deleteAll(of: person)
            try await PersonDeletionStore(db: db).remove(person)
        }
    }

    private func endFollows(of person: Person.ID) async throws {
        let store = PersonDeletionStore(db: database)
        var others = try await store.followed(by: person, limit: batch)
        while !others.isEmpty {
            for other in others {
                try await database.transaction { db in
                    guard try await FollowStore(db: db).lock(person, other) else { return }
                    try await follows.end(person, other, in: db)
                    try await follows.end(other, person, in: db)
                }
            }
            others = try await store.followed(by: person, limit: batch)
        }
    }
}
