import AuthAPI
import Foundation
import Postgres
import ServiceHost
import Wire

/// What becomes of somebody who was deleted: his name goes at once, then his posts with their files, what he said and liked,
/// whom he follows and who follows him, and in the end himself; what others have counted of him is counted without him.
///
/// It is done behind the event that says so, a little at a time however much it is. Each step may be done twice, so nobody
/// has to be alone with it, and one that is broken off is taken up again.
struct PersonDeletions: Sendable {
    let database: PostgresPool
    let links: MediaLinks
    let follows: Follows
    let setAside: SetAside
    let now: @Sendable () -> Date
    /// How many rows are looked for in one statement.
    var batch = 100

    /// In the transaction that notes the event; nil for somebody who was never here.
    func begin(_ deleted: UserDeleted, _ event: Event, in db: PostgresTransaction) async throws -> Person.ID? {
        try await PersonDeletionStore(db: db).insert(deleted.user, at: event.at)
    }

    /// Whether nothing is left: he himself, posts that are still being cleared, and files that lie about.
    func isGone(_ unconfirmedDeletion: UnconfirmedDeletion) async throws -> Bool {
        guard let number = unconfirmedDeletion.number else { return true }
        return try await !PersonDeletionStore(db: database).hasRemainingData(Person.ID(number))
    }

    /// Deletes the users of a deleted application like users who were deleted singly, some of them at each call; true when
    /// nothing of the application is left.
    func erase(_ application: String) async throws -> Bool {
        for _ in 0..<10 {
            let started = try await database.transaction { db in
                try await PersonDeletionStore(db: db).insert(allOf: application, at: now(), limit: batch)
            }
            guard started == batch else { break }
        }
        guard try await PersonDeletionStore(db: database).isDeleted(application) else { return false }
        // What remains names no user: tags, marks of streams, and lists of posts that are deleted.
        return try await ApplicationRowDeletion(PersonDeletionStore<PostgresPool>.tables, database: database).erase(
            application
        )
    }

    /// Until nobody is left of whom there is something.
    ///
    /// A departure that fails is retried later, and delays no other.
    func clear() async throws {
        let store = PersonDeletionStore(db: database)
        while let person = try await store.next(at: now()) {
            try await setAside.each([person], of: .personDeletion, key: { ["\($0.rawValue)"] }, clear)
        }
    }

    private func clear(_ person: Person.ID) async throws {
        try await DeletedUserContent(database: database, links: links, batch: batch).clear(person)
        try await endFollows(of: person)
        // A request of this person that is still running may keep the row by a foreign key: then a later round removes it.
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
