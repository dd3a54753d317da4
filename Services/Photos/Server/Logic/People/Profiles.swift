import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of profiles and of users' privacy settings.
///
/// Names and avatars are stored only here and read from here, so that a change is visible everywhere at once.
struct Profiles: Sendable {
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
        // A user of a customer's application gets a row only by using photos; reading the profile creates none.
        guard viewer.user.isRoostUser else {
            guard let profile = try await profiles(of: [name], for: viewer).first else { throw People.notFound }
            return profile
        }
        return try await profile(of: people.find(name, for: viewer).id, for: viewer.id)
    }

    /// Returns the profiles of users of the caller's application, without duplicates, in the order of the ids.
    ///
    /// Unknown users, and users with a block to or from the caller, are absent.
    ///
    /// - Throws: `too_many` for more than 100 ids, `missing_field` for an empty id, or `unavailable` if auth is
    ///   unavailable and one of the users has never used photos.
    func list(_ names: [String], for user: User.ID) async throws -> Page<Profile> {
        guard names.count <= Self.maximumLookup else {
            let message = "\"userId\" must be sent at most \(Self.maximumLookup) times"
            throw APIError.invalid("userId", message, code: "too_many")
        }
        guard !names.contains("") else { throw APIError.missing("userId") }
        return Page(try await profiles(of: names, for: people.person(for: user)))
    }

    private func profiles(of names: [String], for viewer: Person) async throws -> [Profile] {
        let application = viewer.user.application
        var listed: Set<User.ID> = []
        let requested = names.compactMap { People.user($0, in: application) }.filter { listed.insert($0).inserted }
        let stored = try await ProfileStore(db: database.reads, links: links).profiles(of: requested, for: viewer)
        // A block also hides a user who has never used photos.
        let unseen = requested.filter { user in stored[user].map { !$0.hasVisited && $0.isVisible } ?? true }
        let accounts = try await people.accountNames(of: unseen, in: application)
        return requested.compactMap { user in
            if let row = stored[user], row.hasVisited || !row.isVisible {
                return row.isVisible ? row.profile : nil
            }
            return accounts[user].map { Profile(userId: user.user, fullName: $0) }
        }
    }

    /// Applies all changes, or none if one of them fails.
    func update(_ changes: ProfileChanges, of user: User.ID) async throws -> Profile {
        let name = try changes.fullName.map(ProfileRules.fullName)
        let bio = try changes.bio.isGiven ? ProfileRules.bio(changes.bio.value ?? "") : nil
        if case .set("") = changes.profilePicture { throw APIError.missing("profilePicture") }
        let person = try await people.person(for: user)
        try await database.transaction { db in
            let store = PeopleStore(db: db)
            // The user's row is locked before all other rows, here and everywhere else.
            guard try await store.lock(person.id) != nil else { throw People.accountDeleted }
            if let name { try await people.rename(person.id, to: name, in: db) }
            if let bio { try await store.set(name: nil, bio: bio, of: person.id) }
            try await set(changes.profilePicture, of: person.id, in: db)
            if name != nil || changes.profilePicture.isGiven { try await publish(person.id, in: db) }
        }
        return try await profile(of: person.id, for: person.id)
    }

    /// Sets an upload as the avatar of a user who has none; returns false for a user who has an avatar or was deleted.
    func setPictureIfNone(_ upload: String, to person: Person.ID) async throws -> Bool {
        try await database.transaction { db in
            guard let locked = try await PeopleStore(db: db).lock(person), locked.person.picture == nil else {
                return false
            }
            try await set(.set(upload), of: person, in: db)
            try await publish(person, in: db)
            return true
        }
    }

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

    /// Changes the privacy settings; a user who opts out of the search is removed from the search table.
    func update(_ privacy: Privacy, of user: User.ID) async throws -> Privacy {
        let person = try await people.person(for: user)
        try await database.transaction { db in
            let store = PeopleStore(db: db)
            guard let locked = try await store.lock(person.id), locked.isSearchable != privacy.searchable else {
                return
            }
            try await store.set(searchable: privacy.searchable, person.id)
            if privacy.searchable {
                try await people.replaceNames(of: locked.person, with: locked.person.fullName, in: db)
            } else {
                try await PersonNameStore(db: db).delete(of: person.id)
            }
        }
        return privacy
    }

    private func profile(of person: Person.ID, for viewer: Person.ID) async throws -> Profile {
        let store = ProfileStore(db: database.reads, links: links)
        guard let profile = try await store.profile(of: person, for: viewer) else { throw People.notFound }
        return profile
    }
}
