import Postgres
import Wire

/// What somebody has posted and said, taken away when he goes: a few things at a time, however many there are, each of
/// them whole, so that what was done stays done when the process ends in the middle.
struct DeletedUserContent: Sendable {
    let database: PostgresPool
    let links: MediaLinks
    var batch = 100

    /// Until nothing is left: his posts, and his likes, comments and flags on those of others.
    func clear(_ person: Person.ID) async throws {
        while try await removePosts(of: person) {}
        while try await removeInteractions(of: person) {}
    }

    /// False: there was none.
    private func removePosts(of person: Person.ID) async throws -> Bool {
        let posts = try await DeletedUserContentStore(db: database).posts(by: person, limit: batch)
        for post in posts {
            try await database.transaction { db in _ = try await PostDeletion(db: db, links: links).delete(post) }
        }
        return !posts.isEmpty
    }

    /// False: there was nothing.
    private func removeInteractions(of person: Person.ID) async throws -> Bool {
        try await database.transaction { db in
            let store = DeletedUserContentStore(db: db)
            let posts = try await store.postsCommentedOrLiked(person, limit: batch)
            let locked = try await store.lock(posts)
            try await store.removeLikes(by: person, of: posts)
            try await store.removeComments(by: person, of: posts)
            try await store.removeFlags(by: person, of: posts)
            for post in locked { try await PhotoChange.record(.changed, post: post, in: db) }
            return !posts.isEmpty
        }
    }
}
