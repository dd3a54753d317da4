import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of follows: a user may follow every other user that they can see, and the counts are exact.
struct Follows: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let cursors: CursorSigner
    let maximum: Int
    let mergeThreshold: Int

    /// The maximum number of merged authors of one user; posts of further popular authors are copied.
    static let maximumMergedAuthors = 100

    func follow(_ name: String, by user: User.ID) async throws -> Profile {
        let follower = try await people.person(for: user)
        let followee = try await people.find(name, for: follower)
        guard follower.id != followee.id else {
            throw APIError(.unprocessable, "cannot_follow_self", "users cannot follow themselves")
        }
        try await database.transaction { db in
            let store = FollowStore(db: db)
            guard try await store.lock(follower.id, followee.id),
                try await store.insert(
                    follower.id,
                    followee.id,
                    mergeThreshold: mergeThreshold,
                    maximumMergedAuthors: Self.maximumMergedAuthors
                )
            else { return }
            guard try await store.following(of: follower.id) < maximum else {
                throw APIError(.unprocessable, "too_many_follows", "a user can follow at most \(maximum) users")
            }
            try await store.count(1, follower.id, followee.id)
            try await PhotoActivity.follow(follower.id, followee.id, in: db)
            try await PhotoChange.recordHomeChange(of: follower.id, in: db)
        }
        // If a block exists, the follow was not inserted, and reading the profile fails with "not found".
        return try await profile(of: followee, for: follower)
    }

    func unfollow(_ name: String, by user: User.ID) async throws -> Profile {
        let follower = try await people.person(for: user)
        let followee = try await people.find(name, for: follower)
        try await database.transaction { db in
            guard try await FollowStore(db: db).lock(follower.id, followee.id) else { return }
            try await end(follower.id, followee.id, in: db)
        }
        return try await profile(of: followee, for: follower)
    }

    /// Ends a follow, removes the followee's posts from the follower's feed and updates both counts; both users must be
    /// locked.
    func end(_ follower: Person.ID, _ followee: Person.ID, in db: PostgresTransaction) async throws {
        let store = FollowStore(db: db)
        guard try await store.delete(follower, followee) else { return }
        // A separate statement: it must see the posts that a reader copied while the previous statement waited for the
        // reader's lock.
        try await FeedStore(db: db).delete(by: followee, of: follower)
        try await store.count(-1, follower, followee)
        try await PhotoChange.recordHomeChange(of: follower, in: db)
    }

    func followers(of name: String, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Profile> {
        try await list("followers", of: name, for: user, limit: limit, cursor: cursor) { store, person, viewer, last in
            try await store.followers(of: person, for: viewer, after: last, limit: limit + 1)
        }
    }

    func following(of name: String, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Profile> {
        try await list("following", of: name, for: user, limit: limit, cursor: cursor) { store, person, viewer, last in
            try await store.following(of: person, for: viewer, after: last, limit: limit + 1)
        }
    }

    private func list(
        _ kind: String,
        of name: String,
        for user: User.ID,
        limit: Int,
        cursor: String?,
        _ read: (FollowListStore<PostgresReads>, Person.ID, Person.ID, FollowPosition) async throws -> [ListedPerson]
    ) async throws -> Page<Profile> {
        let viewer = try await people.person(for: user)
        let person = try await people.find(name, for: viewer)
        _ = try await profile(of: person, for: viewer)
        let list = "\(kind) of \(person.id)"
        let last = try cursor.map { try cursors.position($0, of: list, for: user, as: FollowPosition.self) }
        let store = FollowListStore(db: database.reads, links: links)
        let found = try await read(store, person.id, viewer.id, last ?? .start)
        let page = found.prefix(limit)
        guard found.count > limit, let end = page.last else { return Page(page.map(\.profile)) }
        return Page(page.map(\.profile), next: try cursors.sign(end.position, of: list, for: user))
    }

    private func profile(of person: Person, for viewer: Person) async throws -> Profile {
        let store = ProfileStore(db: database.reads, links: links)
        guard let profile = try await store.profile(of: person.id, for: viewer.id) else { throw People.notFound }
        return profile
    }
}
