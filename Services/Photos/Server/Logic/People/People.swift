import AuthAPI
import Foundation
import Postgres
import Wire

/// The rules of users in photos: a user gets a row on first use.
struct People: Sendable {
    let database: PostgresPool
    let auth: AuthClient

    /// The maximum length of a name, in characters; longer names are cut.
    static let maximumName = 100
    /// The maximum length of a user id, in characters; the placeholder ids of deleted users are longer.
    private static let maximumUserID = 255

    /// Returns the caller, and creates the row on first use.
    ///
    /// - Throws: `unavailable` for a new user whose name must be read from auth while auth is unavailable.
    func person(for user: User.ID) async throws -> Person {
        if let existing = try await PeopleStore(db: database.reads).find(user) { return existing }
        return try await create(user, named: user.isRoostUser ? try await accountName(of: user) ?? "" : user.user)
    }

    /// Returns the user with an id, if the viewer may see the user.
    ///
    /// A user who exists in auth but not in photos gets a row.
    ///
    /// - Throws: `notFound` for an unknown user, or if a block exists between the user and the viewer.
    func find(_ userID: String, for viewer: Person) async throws -> Person {
        guard let user = Self.user(userID, in: viewer.user.application) else { throw Self.notFound }
        let person: Person
        if let existing = try await PeopleStore(db: database.reads).find(user) {
            person = existing
        } else {
            guard let name = try await accountName(of: user) else { throw Self.notFound }
            person = try await create(user, named: user.isRoostUser ? name : user.user)
        }
        // A block can exist before the user's row is complete.
        guard try await !BlockStore(db: database.reads).existsBetween(person.id, viewer.id) else { throw Self.notFound }
        return person
    }

    static let notFound = APIError(.notFound, "user_not_found", "there is no such user")
    static let accountDeleted = APIError(.forbidden, "account_deleted", "this account was deleted")

    /// Records the current name of a user, so that other users find the user by name.
    ///
    /// A user of a customer's application gets a row at first use, since auth knows no names of such users.
    func record(_ user: User.ID, named name: String, in db: PostgresTransaction) async throws {
        if let existing = try await PeopleStore(db: db).find(user) {
            try await rename(existing.id, to: Self.truncate(name), in: db)
        } else if user.isRoostUser, !name.isEmpty {
            // The row does not count as a use of photos, so the avatar is not imported before the first visit.
            try await rename(PeopleStore(db: db).ensureRow(user), to: Self.truncate(name), in: db)
        }
    }

    func rename(_ person: Person.ID, to name: String, in db: PostgresTransaction) async throws {
        let store = PeopleStore(db: db)
        guard let locked = try await store.lock(person) else { return }
        try await store.set(name: name, bio: nil, of: person)
        if locked.isSearchable { try await replaceNames(of: locked.person, with: name, in: db) }
    }

    /// Replaces the names by which a user is found.
    func replaceNames(of person: Person, with name: String, in db: PostgresTransaction) async throws {
        let names = PersonNameStore(db: db)
        try await names.delete(of: person.id)
        try await names.insert(SearchNames.names(of: person.user, named: name), of: person)
    }

    private func create(_ user: User.ID, named name: String) async throws -> Person {
        let name = Self.truncate(name)
        return try await database.transaction { db in
            let store = PeopleStore(db: db)
            if let created = try await store.insert(user, named: name) {
                if try await store.isSearchable(created.id) == true {
                    try await replaceNames(of: created, with: name, in: db)
                }
                try await AvatarImportStore(db: db).makeDue(created.id)
                return created
            }
            guard let existing = try await store.find(user) else { throw APIError.unavailable("the user") }
            return existing
        }
    }

    /// Returns the names of those users of one application that exist in auth; empty for a user without a name.
    func accountNames(of users: [User.ID], in application: String) async throws -> [User.ID: String] {
        guard !users.isEmpty else { return [:] }
        let found = try await auth.users(users.map(\.user), of: application).map { user in
            let name = user.fullName ?? user.username ?? ""
            return (User.ID(application: application, user: user.userId), Self.truncate(name))
        }
        return Dictionary(found) { first, _ in first }
    }

    private func accountName(of user: User.ID) async throws -> String? {
        try await accountNames(of: [user], in: user.application)[user]
    }

    /// Parses a user id: a UUID in Roost's own application, any text in others; nil for an invalid id.
    static func user(_ name: String, in application: String) -> User.ID? {
        guard (1...maximumUserID).contains(name.unicodeScalars.count) else { return nil }
        guard application == RoostApplication.id else { return User.ID(application: application, user: name) }
        return UUID(uuidString: name).map { User.ID(application: application, user: $0.uuidString.lowercased()) }
    }

    private static func truncate(_ name: String) -> String { String(name.unicodeScalars.prefix(maximumName)) }
}
