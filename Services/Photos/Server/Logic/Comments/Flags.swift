import PhotosAPI
import Postgres
import ServiceHost
import Wire

/// The rules of flags.
///
/// A user who can see a post or a comment may flag it once. Moderators of the application list flags, and hide or
/// restore posts.
struct Flags: Sendable {
    let database: PostgresPool
    let people: People
    let links: MediaLinks
    let cursors: CursorSigner

    private static let list = "photos.flags"

    func flag(_ target: FlagTarget, by user: User.ID) async throws -> FlagResponse {
        let person = try await people.person(for: user)
        return try await database.transaction { db in
            let post = try await PostStore(db: db, links: links).lock(target.post, for: .person(person.id))
            guard let post else { throw Posts.notFound }
            guard try await author(of: target, seenBy: person, on: db) != person.id else {
                let message = "users cannot flag their own content; delete it instead"
                throw APIError(.unprocessable, "cannot_flag_own", message)
            }
            try await FlagStore(db: db).insert(target, in: post.application, by: person.id)
            return FlagResponse()
        }
    }

    func list(of application: String, for user: User.ID, limit: Int, cursor: String?) async throws -> Page<Flag> {
        let last = try cursor.map { try cursors.position($0, of: Self.list, for: user, as: FlagPosition.self) }
        let found = try await FlagStore(db: database.reads).page(of: application, after: last, limit: limit + 1)
        let page = Array(found.prefix(limit))
        let viewer = Viewer.moderator(application: application)
        let posts = try await PostStore(db: database.reads, links: links).summaries(
            of: Array(Set(page.map(\.target.post))),
            for: viewer
        )
        let postsByID = Dictionary(posts.map { ($0.postId, $0) }) { first, _ in first }
        let comments = try await CommentStore(db: database.reads, links: links).comments(page.compactMap(\.commentKey))
        let next = try found.count > limit ? cursors.sign(found[limit - 1].position, of: Self.list, for: user) : nil
        return Page(page.compactMap { Flag($0, postsByID, comments) }, next: next)
    }

    func set(hidden: Bool, _ key: PostKey, in application: String) async throws -> Post {
        let viewer = Viewer.moderator(application: application)
        return try await database.transaction { db in
            let store = PostStore(db: db, links: links)
            guard let post = try await store.lock(key, for: viewer) else { throw Posts.notFound }
            if post.isHidden != hidden {
                try await store.set(hidden: hidden, key)
                let tags = try await store.hashtags(of: key)
                let changes = hidden ? Posts.changes(from: tags, to: []) : Posts.changes(from: [], to: tags)
                try await HashtagStore(db: db).count(changes, in: application)
                try await PhotoChange.record(.changed, post: key, in: db)
            }
            guard let shown = try await store.summary(of: key, for: viewer) else { throw Posts.notFound }
            return shown
        }
    }

    /// Returns the author of a flagged post or comment.
    ///
    /// - Throws: `notFound` for a comment that does not exist, or if a block exists between `person` and its author.
    private func author(
        of target: FlagTarget,
        seenBy person: Person,
        on db: PostgresTransaction
    ) async throws -> Person.ID {
        guard let comment = target.comment else { return target.post.author }
        let key = CommentKey(post: target.post, number: comment)
        let access = try await CommentStore(db: db, links: links).access(key, for: .person(person.id))
        guard let access, access.isVisible else { throw Comments.notFound }
        return access.writer
    }
}

extension Flag {
    /// Nil if the post or the comment was deleted after the flags were read.
    fileprivate init?(_ row: FlaggedItem, _ posts: [String: Post], _ comments: [CommentKey: Comment]) {
        guard let post = posts[row.target.post.postID] else { return nil }
        let comment = row.commentKey.flatMap { comments[$0] }
        if row.commentKey != nil, comment == nil { return nil }
        self.init(
            post: post,
            comment: comment,
            flagCount: row.count,
            firstFlaggedAt: row.firstAt,
            lastFlaggedAt: row.lastAt
        )
    }
}
