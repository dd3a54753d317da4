import Postgres
import Wire

/// The deletion of a deleted user's posts, comments, likes and flags.
///
/// Works in small transactions, so that a crash loses at most the batch in progress.
struct DeletedUserContent: Sendable {
    let database: PostgresPool
    let links: MediaLinks
    var batch = 100

    func clear(_ person: Person.ID) async throws {
        while try await removePosts(of: person) {}
        while try await removeInteractions(of: person) {}
    }

    /// Returns false if there was no post left.
    private func removePosts(of person: Person.ID) async throws -> Bool {
        let posts = try await DeletedUserContentStore(db: database).posts(by: person, limit: batch)
        for post in posts {
            try await database.transaction { db in _ = try await PostDeletion(db: db, links: links).delete(post) }
        }
        return !posts.isEmpty
    }

    /// Returns false if there was nothing left.
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
