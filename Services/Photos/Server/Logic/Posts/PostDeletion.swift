import Foundation
import Postgres
import ServiceHost
import Wire

/// How a post goes: in one transaction for everybody, and then little by little what others said of it.
struct PostDeletion {
    let db: PostgresTransaction
    let links: MediaLinks

    /// False: it is not there.
    func delete(_ key: PostKey) async throws -> Bool {
        let store = PostStore(db: db, links: links)
        // The author's row is locked before the post's, as when he posts.
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

/// What deleted posts have left, cleared away a little at a time however much it is.
struct DeletedPostCleanup: Sendable {
    let setAside: SetAside
    let now: @Sendable () -> Date
    var batch = 5_000

    /// Until nothing is left that no other instance is at.
    ///
    /// A post that cannot be cleared delays no other.
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
