import AuthAPI
import Foundation
import Postgres
import Wire

/// The rules of people: each is made when he is first seen.
struct People: Sendable {
    let database: PostgresPool
    let auth: AuthClient

    /// The longest name that is taken over, in characters.
    static let maximumName = 100
    /// No user has a longer id, in characters; rows of deleted users do.
    private static let maximumUserID = 255

    /// Who asks; made at first sight.
    ///
    /// - Throws: `unavailable` for somebody new, while auth is away and he may have a name there.
    func person(for user: User.ID) async throws -> Person {
        if let known = try await PeopleStore(db: database.reads).find(user) { return known }
        return try await create(user, named: user.isRoostUser ? try await accountName(of: user) ?? "" : user.user)
    }

    /// Whom somebody names by his userId who may see him.
    ///
    /// A user whom auth knows gets a row at first sight here too.
    ///
    /// - Throws: `notFound` for an unknown user, and for a user whom a block keeps apart from the viewer.
    func find(_ userID: String, for viewer: Person) async throws -> Person {
        guard let user = Self.user(userID, in: viewer.user.application) else { throw Self.notFound }
        let person: Person
        if let known = try await PeopleStore(db: database.reads).find(user) {
            person = known
        } else {
            guard let name = try await accountName(of: user) else { throw Self.notFound }
            person = try await create(user, named: user.isRoostUser ? name : user.user)
        }
        // A block may be older than the row.
        guard try await !BlockStore(db: database.reads).existsBetween(person.id, viewer.id) else { throw Self.notFound }
        return person
    }

    static let notFound = APIError(.notFound, "user_not_found", "there is no such person")
    /// Somebody whose account was deleted while he asked.
    static let accountDeleted = APIError(.forbidden, "account_deleted", "this account is gone")

    /// Takes over what somebody is called now, if he has been here.
    func rename(_ user: User.ID, to name: String, in db: PostgresTransaction) async throws {
        guard let known = try await PeopleStore(db: db).find(user) else { return }
        try await rename(known.id, to: Self.truncate(name), in: db)
    }

    /// Changes a name and what its owner is found by.
    func rename(_ person: Person.ID, to name: String, in db: PostgresTransaction) async throws {
        let (store, names) = (PeopleStore(db: db), PersonNameStore(db: db))
        guard let known = try await store.lock(person) else { return }
        try await store.set(name: name, bio: nil, of: person)
        guard known.isSearchable else { return }
        try await names.delete(of: person)
        try await names.insert(SearchNames.names(of: known.person.user, named: name), of: known.person)
    }

    private func create(_ user: User.ID, named name: String) async throws -> Person {
        let name = Self.truncate(name)
        return try await database.transaction { db in
            let store = PeopleStore(db: db)
            if let created = try await store.insert(user, named: name) {
                let names = SearchNames.names(of: user, named: name)
                if try await store.isSearchable(created.id) == true {
                    try await PersonNameStore(db: db).insert(names, of: created)
                }
                try await AvatarImportStore(db: db).makeDue(created.id)
                return created
            }
            guard let known = try await store.find(user) else { throw APIError.unavailable("the list of people") }
            return known
        }
    }

    /// Returns the names of those of these users of one application whom auth knows; empty for a user without a name.
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

    /// Roost's ids are UUIDs in lower case, a customer's are as they are; nil for what is none.
    static func user(_ name: String, in application: String) -> User.ID? {
        guard (1...maximumUserID).contains(name.unicodeScalars.count) else { return nil }
        guard application == RoostApplication.id else { return User.ID(application: application, user: name) }
        return UUID(uuidString: name).map { User.ID(application: application, user: $0.uuidString.lowercased()) }
    }

    private static func truncate(_ name: String) -> String { String(name.unicodeScalars.prefix(maximumName)) }
}
