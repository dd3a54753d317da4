import Foundation
import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of posts: a user creates, edits and deletes only their own posts, and reads the posts that are visible to
/// them.
struct Posts: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let mask: TextMask
    var recall = NotificationRecall()

    func create(_ draft: PostDraft, by user: User.ID) async throws -> Post {
        let checked = try CheckedPost(draft, mask, needsImage: true)
        let author = try await people.person(for: user)
        return try await database.transaction { db in
            let key = try await insert(checked, by: author, in: db)
            let post = try await read(key, as: author, from: PostStore(db: db, links: links))
            return try await IdempotentRequest.keep(post, in: db)
        }
    }

    /// Creates a post with an idempotency key; a repeated call returns the first post, even if it was deleted since.
    func create(_ draft: PostDraft, by user: User.ID, idempotencyKey requestKey: UUID) async throws -> PostKey {
        let checked = try CheckedPost(draft, mask, needsImage: false)
        let author = try await people.person(for: user)
        return try await database.transaction { db in
            let delegatedPosts = DelegatedPostStore(db: db)
            guard try await delegatedPosts.insert(requestKey, of: author.id) else {
                guard let existing = try await delegatedPosts.find(requestKey, of: user) else { throw Self.notFound }
                return existing
            }
            let key = try await insert(checked, by: author, in: db)
            try await delegatedPosts.complete(requestKey, as: key)
            return key
        }
    }

    private func insert(
        _ checked: CheckedPost,
        by author: Person,
        in db: PostgresTransaction
    ) async throws -> PostKey {
        let store = PostStore(db: db, links: links)
        guard let position = try await store.begin(by: author.id) else { throw People.accountDeleted }
        let uploads = checked.images.map(\.uploadId)
        let claimed = try await UploadStore(db: db).claim(uploads, by: author.id, for: position.key)
        let post = NewPost(
            key: position.key,
            application: author.user.application,
            text: checked.text,
            hashtags: checked.hashtags,
            images: zip(claimed, checked.images).map { NewImage(image: $0, alt: $1.alt) },
            createdAt: position.createdAt
        )
        try await store.insert(post)
        let counted = Self.changes(from: [], to: checked.hashtags)
        try await HashtagStore(db: db).count(counted, in: author.user.application)
        try await PhotoChange.record(.new, post: position.key, in: db)
        return position.key
    }

    func show(_ key: PostKey, to user: User.ID) async throws -> Post {
        let person = try await people.person(for: user)
        return try await read(key, as: person, from: PostStore(db: database.reads, links: links))
    }

    /// Changes the given fields; an update that changes nothing does not mark the post as edited.
    func update(_ key: PostKey, _ changes: PostChanges, by user: User.ID) async throws -> Post {
        let text = try changes.text.map { mask.masked(try PostRules.text($0)) }
        let person = try await people.person(for: user)
        try await requireAuthor(person, of: key)
        return try await database.transaction { db in
            let store = PostStore(db: db, links: links)
            guard let post = try await store.lock(key, for: .person(person.id)) else { throw Self.notFound }
            let isNew = try await set(text, of: post, on: db)
            let hasNewAlts = try await set(changes.images, of: key, on: db)
            if isNew || hasNewAlts {
                try await store.markEdited(of: key)
                try await PhotoChange.record(.changed, post: key, in: db)
            }
            return try await read(key, as: person, from: store)
        }
    }

    /// Deletes a post.
    ///
    /// Its comments, likes and flags are invisible at once and deleted later.
    func delete(_ key: PostKey, by user: User.ID) async throws -> DeleteResponse {
        let person = try await people.person(for: user)
        try await requireAuthor(person, of: key)
        return try await database.transaction { db in
            guard try await PostDeletion(db: db, links: links).delete(key) else { throw Self.notFound }
            try await recall.post(key, of: user.application, in: db)
            return DeleteResponse()
        }
    }

    /// Returns the post as the person sees it, in the transaction that created or changed it, so that nothing can fail
    /// after the commit.
    private func read(
        _ key: PostKey,
        as person: Person,
        from store: PostStore<some PostgresExecutor>
    ) async throws -> Post {
        guard let post = try await store.summary(of: key, for: .person(person.id)) else { throw Self.notFound }
        return post
    }

    /// - Throws: `forbidden` if the person sees another user's post, `notFound` if the person does not see the post.
    private func requireAuthor(_ person: Person, of key: PostKey) async throws {
        guard key.author != person.id else { return }
        let store = PostStore(db: database.reads, links: links)
        guard try await store.isVisible(key, to: .person(person.id)) else { throw Self.notFound }
        throw APIError(.forbidden, "not_author", "only the author can change or delete a post")
    }

    /// Returns false if the text is unchanged.
    private func set(_ text: String?, of post: LockedPost, on db: PostgresTransaction) async throws -> Bool {
        guard let text, !text.isExactly(post.text) else { return false }
        let store = PostStore(db: db, links: links)
        try PostRules.requireContent(text: text, imageCount: try await store.alts(of: post.key).count)
        try await store.set(text: text, of: post.key)
        let (old, new) = (try await store.hashtags(of: post.key), HashtagText.all(in: text))
        guard old != new else { return true }
        try await store.set(hashtags: new, of: post)
        if !post.isHidden {
            try await HashtagStore(db: db).count(Self.changes(from: old, to: new), in: post.application)
        }
        return true
    }

    /// Returns false if the alternative texts are unchanged.
    private func set(_ changes: [ImageChanges]?, of key: PostKey, on db: PostgresTransaction) async throws -> Bool {
        guard let changes else { return false }
        let store = PostStore(db: db, links: links)
        let old = try await store.alts(of: key)
        let new = try PostRules.alts(changes, to: old).map { $0.map(mask.masked) }
        guard new != old else { return false }
        try await store.set(alts: new, of: key)
        return true
    }

    static func changes(from old: [String], to new: [String]) -> [String: Int64] {
        let (before, after) = (Set(old), Set(new))
        var changes: [String: Int64] = [:]
        for tag in after.subtracting(before) { changes[tag] = 1 }
        for tag in before.subtracting(after) { changes[tag] = -1 }
        return changes
    }

    static let notFound = APIError(.notFound, "post_not_found", "there is no such post")
}
