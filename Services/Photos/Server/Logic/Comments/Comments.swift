import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of comments.
///
/// A user who can see a post may comment on it. Only the author of a comment may edit it; its author and the post's
/// author may delete it.
struct Comments: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let mask: TextMask
    var recall = NotificationRecall()
    let cursors: CursorSigner

    func create(_ draft: CommentDraft, to post: PostKey, by user: User.ID) async throws -> Comment {
        let text = mask.masked(try PostRules.comment(draft.text))
        let author = try await people.person(for: user)
        return try await database.transaction { db in
            try await lock(post, for: author, on: db)
            let store = CommentStore(db: db, links: links)
            let key = try await store.insert(text, by: author.id, on: post)
            try await PhotoActivity.comment(author.id, key, post, in: db)
            try await PhotoChange.record(.commentCreated, comment: key, in: db)
            guard let comment = try await store.comment(key) else { throw People.accountDeleted }
            return try await IdempotentRequest.keep(comment, in: db)
        }
    }

    func list(of post: PostKey, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Comment> {
        let list = "photos.comments:\(post.postID)"
        let last = try cursor.map { try cursors.position($0, of: list, for: user, as: Int64.self) }
        let viewer = Viewer.person(try await people.person(for: user).id)
        try await requireVisible(post, to: viewer)
        let store = CommentStore(db: database.reads, links: links)
        let found = try await store.page(of: post, for: viewer, before: last, limit: limit + 1)
        let page = Array(found.prefix(limit))
        guard found.count > limit, let number = page.last.flatMap({ Int64($0.commentId) }) else { return Page(page) }
        return Page(page, next: try cursors.sign(number, of: list, for: user))
    }

    /// Replaces the text; an unchanged text does not mark the comment as edited.
    func update(_ key: CommentKey, _ draft: CommentDraft, by user: User.ID) async throws -> Comment {
        let text = mask.masked(try PostRules.comment(draft.text))
        let person = try await people.person(for: user)
        return try await database.transaction { db in
            try await lock(key.post, for: person, on: db)
            let store = CommentStore(db: db, links: links)
            let access = try await visibleAccess(key, by: person, on: db)
            guard access.writer == person.id else {
                throw APIError(.forbidden, "not_author", "only the author can edit a comment")
            }
            if !text.isExactly(access.text) {
                try await store.set(text: text, of: key)
                try await recall.comment(key, isDeleted: false, of: key.post.author, in: db)
                try await PhotoChange.record(.commentEdited, comment: key, in: db)
            }
            guard let comment = try await store.comment(key) else { throw Self.notFound }
            return comment
        }
    }

    func delete(_ key: CommentKey, by user: User.ID) async throws -> DeleteResponse {
        let person = try await people.person(for: user)
        return try await database.transaction { db in
            try await lock(key.post, for: person, on: db)
            let access = try await visibleAccess(key, by: person, on: db)
            guard access.writer == person.id || key.post.author == person.id else {
                let message = "only the author of a comment and the author of its post can delete the comment"
                throw APIError(.forbidden, "not_author", message)
            }
            try await CommentStore(db: db, links: links).delete(key)
            try await recall.comment(key, isDeleted: true, of: key.post.author, in: db)
            try await PhotoChange.record(.commentDeleted, comment: key, in: db)
            return DeleteResponse()
        }
    }

    /// Returns the comment as the person may access it.
    ///
    /// The author of a post can access all comments on it, including those of blocked users.
    private func visibleAccess(
        _ key: CommentKey,
        by person: Person,
        on db: PostgresTransaction
    ) async throws -> CommentAccess {
        let store = CommentStore(db: db, links: links)
        guard let access = try await store.access(key, for: .person(person.id)),
            access.isVisible || key.post.author == person.id
        else { throw Self.notFound }
        return access
    }

    private func lock(_ post: PostKey, for person: Person, on db: PostgresTransaction) async throws {
        guard try await PostStore(db: db, links: links).lock(post, for: .person(person.id)) != nil else {
            throw Posts.notFound
        }
    }

    private func requireVisible(_ post: PostKey, to viewer: Viewer) async throws {
        guard try await PostStore(db: database.reads, links: links).isVisible(post, to: viewer) else {
            throw Posts.notFound
        }
    }

    static let notFound = APIError(.notFound, "comment_not_found", "there is no such comment")
}
