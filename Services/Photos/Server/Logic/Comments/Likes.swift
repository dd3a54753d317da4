import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of likes: a user who can see a post may like it once.
struct Likes: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let cursors: CursorSigner

    func like(_ key: PostKey, by user: User.ID) async throws -> LikeState {
        let person = try await people.person(for: user)
        return try await change(key, by: person) { post, db in
            let count = try await LikeStore(db: db, links: links).insert(by: person.id, on: key)
            guard let count else { return LikeState(isLiked: true, likeCount: post.likeCount) }
            try await PhotoActivity.like(person.id, key, in: db)
            try await PhotoChange.record(.changed, post: key, in: db)
            return LikeState(isLiked: true, likeCount: count)
        }
    }

    func unlike(_ key: PostKey, by user: User.ID) async throws -> LikeState {
        let person = try await people.person(for: user)
        return try await change(key, by: person) { post, db in
            let count = try await LikeStore(db: db, links: links).delete(by: person.id, on: key)
            guard let count else { return LikeState(isLiked: false, likeCount: post.likeCount) }
            try await PhotoChange.record(.changed, post: key, in: db)
            return LikeState(isLiked: false, likeCount: count)
        }
    }

    func list(of post: PostKey, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Like> {
        let list = "photos.likes:\(post.postID)"
        let last = try cursor.map { try cursors.position($0, of: list, for: user, as: LikePosition.self) }
        let viewer = try await people.person(for: user)
        guard try await PostStore(db: database.reads, links: links).isVisible(post, to: .person(viewer.id)) else {
            throw Posts.notFound
        }
        let store = LikeStore(db: database.reads, links: links)
        let found = try await store.page(of: post, for: viewer.id, after: last, limit: limit + 1)
        let next = try found.count > limit ? cursors.sign(found[limit - 1].position, of: list, for: user) : nil
        return Page(found.prefix(limit).map(\.like), next: next)
    }

    /// Runs `body` under the post's lock, so that the like count is exact and a post that is being deleted gets no new
    /// likes.
    private func change(
        _ key: PostKey,
        by person: Person,
        _ body: nonisolated(nonsending) (LockedPost, PostgresTransaction) async throws -> LikeState
    ) async throws -> LikeState {
        try await database.transaction { db in
            guard let post = try await PostStore(db: db, links: links).lock(key, for: .person(person.id)) else {
                throw Posts.notFound
            }
            return try await body(post, db)
        }
    }
}
