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

    /// Who asks; made at first sight.
    ///
    /// - Throws: `unavailable` for somebody new, while auth is away and he may have a name there.
    func person(for user: User.ID) async throws -> Person {
        if let known = try await PeopleStore(db: database.reads).find(user) { return known }
        let name = String(try await firstName(of: user).unicodeScalars.prefix(Self.maximumName))
        return try await database.transaction { db in
            let store = PeopleStore(db: db)
            try await store.insert(user, named: name)
            guard let person = try await store.find(user) else { throw APIError.unavailable("the list of people") }
            return person
        }
    }

    /// Somebody whom another names, by what he is known by in their application.
    ///
    /// - Throws: `notFound` for who has never been here, and for one whom a block keeps apart.
    func find(_ name: String, for viewer: Person) async throws -> Person {
        // Roost's own are UUIDs in lower case; a customer's are as they are.
        let name = viewer.user.isRoosts ? UUID(uuidString: name)?.uuidString.lowercased() ?? "" : name
        let user = User.ID(application: viewer.user.application, user: name)
        guard let person = try await PeopleStore(db: database.reads).find(user, seenBy: viewer.id) else {
            throw APIError(.notFound, "person_not_found", "there is no such person")
        }
        return person
    }

    /// Somebody whose account was deleted while he asked.
    static let gone = APIError(.forbidden, "account_gone", "this account is gone")

    /// In a customer's application the name that its account server chose; of Roost's own accounts auth knows it.
    private func firstName(of user: User.ID) async throws -> String {
        guard user.isRoosts else { return user.user }
        let account = try await auth.users([user.user]).first
        return account?.fullName ?? account?.username ?? ""
    }
}
