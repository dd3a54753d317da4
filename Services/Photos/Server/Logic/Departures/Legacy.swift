import Postgres
import Wire

/// What somebody has posted and said, taken away when he goes: a few things at a time, however many there are, each of
/// them whole, so that what was done stays done when the process ends in the middle.
struct Legacy: Sendable {
    let database: PostgresPool
    let links: MediaLinks
    var batch = 100

    /// Until nothing is left: his posts, and his likes, comments and flags on those of others.
    func clear(_ person: Person.ID) async throws {
        while try await removePosts(of: person) {}
        while try await removeWords(of: person) {}
    }

    /// False: there was none.
    private func removePosts(of person: Person.ID) async throws -> Bool {
        let posts = try await LegacyStore(db: database).posts(by: person, limit: batch)
        for post in posts {
            try await database.transaction { db in _ = try await PostDeletion(db: db, links: links).delete(post) }
        }
        return !posts.isEmpty
    }

    /// False: there was nothing.
    private func removeWords(of person: Person.ID) async throws -> Bool {
        try await database.transaction { db in
            let store = LegacyStore(db: db)
            let posts = try await store.postsHeSpokeOf(person, limit: batch)
            let there = try await store.lock(posts)
            try await store.removeLikes(by: person, of: posts)
            try await store.removeComments(by: person, of: posts)
            try await store.removeFlags(by: person, of: posts)
            for post in there { try await PhotoChange.note(.changed, post: post, in: db) }
            return !posts.isEmpty
        }
    }
}
