import Foundation
import Postgres
import ServiceHost
import Wire

/// The deletion of a post: one transaction hides it from all users; its comments, likes and flags are deleted later.
struct PostDeletion {
    let db: PostgresTransaction
    let links: MediaLinks

    /// Returns false if the post does not exist.
    func delete(_ key: PostKey) async throws -> Bool {
        let store = PostStore(db: db, links: links)
        // The author's row is locked before the post's, in the same order as when a post is created.
        guard try await store.lock(author: key.author), let post = try await store.lock(key, for: .everything) else {
            return false
        }
        try await store.decrementPostCount(key.author)
        let hashtags = try await store.hashtags(of: key)
        try await UploadStore(db: db).release(post: key)
        try await store.delete(key)
        if !post.isHidden {
            try await HashtagStore(db: db).count(Posts.changes(from: hashtags, to: []), in: post.application)
        }
        try await PhotoChange.record(.deleted, post: key, in: db)
        return true
    }
}

/// Deletes the comments, likes and flags of deleted posts, in batches.
struct DeletedPostCleanup: Sendable {
    let setAside: SetAside
    let now: @Sendable () -> Date
    var batch = 5_000

    /// Runs until every remaining post is locked by another instance.
    ///
    /// A post whose cleanup fails does not delay others.
    func clear() async throws {
        try await setAside.drain(
            .deletedPost,
            key: { ["\($0.author.rawValue)", "\($0.number)"] },
            next: { try await DeletedPostStore(db: $0).next(at: now()) }
        ) { post, db in
            let store = DeletedPostStore(db: db)
            if try await !store.removeSome(of: post, limit: batch) { try await store.finish(post) }
        }
    }
}
