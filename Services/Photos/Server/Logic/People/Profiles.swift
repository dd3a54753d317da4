import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of profiles: what each says of himself, and who finds him.
///
/// Names and pictures are kept here alone and read from here, so that a change is seen everywhere at once.
struct Profiles: Sendable {
    /// The most users that one request may ask for.
    private static let maximumLookup = 100

    let database: PostgresPool
    let people: People
    let links: MediaLinks
    var events = EventOutbox.none

    func own(of user: User.ID) async throws -> Profile {
        let person = try await people.person(for: user)
        return try await profile(of: person.id, for: person.id)
    }

    func show(_ name: String, to user: User.ID) async throws -> Profile {
        let viewer = try await people.person(for: user)
        // A user of a customer's application gets a row by coming here; reading a profile creates none.
        guard viewer.user.isRoostUser else {
            guard let profile = try await profiles(of: [name], for: viewer).first else { throw People.notFound }
            return profile
        }
        return try await profile(of: people.find(name, for: viewer).id, for: viewer.id)
    }

    /// Returns the profiles of users of the caller's application, each once, in the order of the ids.
    ///
    /// Unknown users, and users whom a block keeps apart from the caller, are absent.
    ///
    /// - Throws: `too_many` for more than 100 ids, `missing_field` for an empty one; `unavailable` while auth does not
    ///   answer and one of the users has never been here.
    func list(_ names: [String], for user: User.ID) async throws -> Page<Profile> {
        guard names.count <= Self.maximumLookup else {
            throw APIError.invalid("userId", "at most \(Self.maximumLookup) users at a time", code: "too_many")
        }
        guard !names.contains("") else { throw APIError.missing("userId") }
        return Page(try await profiles(of: names, for: people.person(for: user)))
    }

    private func profiles(of names: [String], for viewer: Person) async throws -> [Profile] {
        let application = viewer.user.application
        var listed: Set<User.ID> = []
        let asked = names.compactMap { People.user($0, in: application) }.filter { listed.insert($0).inserted }
        let known = try await ProfileStore(db: database.reads, links: links).profiles(of: asked, for: viewer)
        // A block hides a user who has never been here as well.
        let unseen = asked.filter { user in known[user].map { !$0.hasVisited && $0.isVisible } ?? true }
        let accounts = try await people.accountNames(of: unseen, in: application)
        return asked.compactMap { user in
            if let known = known[user], known.hasVisited || !known.isVisible {
                return known.isVisible ? known.profile : nil
            }
            return accounts[user].map { Profile(userId: user.user, fullName: $0) }
        }
    }

    /// Changes what is named, all of it or nothing.
    func update(_ changes: ProfileChanges, of user: User.ID) async throws -> Profile {
        let name = try changes.fullName.map(ProfileRules.fullName)
        let bio = try changes.bio.isGiven ? ProfileRules.bio(changes.bio.value ?? "") : nil
        if case .set("") = changes.profilePicture { throw APIError.missing("profilePicture") }
        let person = try await people.person(for: user)
        try await database.transaction { db in
            let store = PeopleStore(db: db)
            // His row before any other: so it is everywhere.
            guard try await store.lock(person.id) != nil else { throw People.accountDeleted }
            if let name { try await people.rename(person.id, to: name, in: db) }
            if let bio { try await store.set(name: nil, bio: bio, of: person.id) }
            try await set(changes.profilePicture, of: person.id, in: db)
            if name != nil || changes.profilePicture.isGiven { try await publish(person.id, in: db) }
        }
        return try await profile(of: person.id, for: person.id)
    }

    /// Gives an upload of his as a picture to somebody who has none; false for who has one, or is gone.
    func setPictureIfNone(_ upload: String, to person: Person.ID) async throws -> Bool {
        try await database.transaction { db in
            guard let known = try await PeopleStore(db: db).lock(person), known.person.picture == nil else {
                return false
            }
            try await set(.set(upload), of: person, in: db)
            try await publish(person, in: db)
            return true
        }
    }

    /// Publishes the name and the picture as this transaction leaves them.
    private func publish(_ id: Person.ID, in db: PostgresTransaction) async throws {
        guard let person = try await PeopleStore(db: db).lock(id)?.person else { return }
        try await events.write(
            ProfileChanged(
                applicationId: person.user.application,
                userId: person.user.user,
                fullName: person.fullName,
                avatarPath: person.picture
            ),
            in: db
        )
    }

    private func set(_ picture: Change<String>, of person: Person.ID, in db: PostgresTransaction) async throws {
        let (store, uploads) = (PeopleStore(db: db), UploadStore(db: db))
        switch picture {
        case .unchanged: break
        case .cleared:
            try await uploads.deletePicture(of: person)
            try await store.set(picture: nil, of: person)
        case .set(let upload): try await store.set(picture: uploads.claimPicture(upload, of: person), of: person)
        }
    }

    func privacy(of user: User.ID) async throws -> Privacy {
        let person = try await people.person(for: user)
        return Privacy(searchable: try await PeopleStore(db: database.reads).isSearchable(person.id) ?? false)
    }

    /// Who does not want to be found keeps no name to be found by.
    func update(_ privacy: Privacy, of user: User.ID) async throws -> Privacy {
        let person = try await people.person(for: user)
        try await database.transaction { db in
            let (store, names) = (PeopleStore(db: db), PersonNameStore(db: db))
            guard let known = try await store.lock(person.id), known.isSearchable != privacy.searchable else { return }
            try await store.set(searchable: privacy.searchable, person.id)
            try await names.delete(of: person.id)
            guard privacy.searchable else { return }
            try await names.insert(SearchNames.names(of: user, named: known.person.fullName), of: known.person)
        }
        return privacy
    }

    private func profile(of person: Person.ID, for viewer: Person.ID) async throws -> Profile {
        let store = ProfileStore(db: database.reads, links: links)
        guard let profile = try await store.profile(of: person, for: viewer) else { throw People.notFound }
        return profile
    }
}
