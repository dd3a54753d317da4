import Postgres

/// Records changes of posts for the subscribers of event streams.
///
/// A change is recorded in the transaction that makes it, so it is published exactly if it is committed. The caller
/// need not signal it: ``ChangeLog`` looks for new changes after each request.
enum PhotoChange {
    enum Kind: String, Sendable {
        case new = "post.new"
        /// The post was edited, liked, hidden or restored.
        case changed = "post.changed"
        case deleted = "post.deleted"
        /// Also a change of the post, which includes the number of comments and the latest comments.
        case commentCreated = "comment.created"
        case commentEdited = "comment.edited"
        case commentDeleted = "comment.deleted"
        /// A change of a user, not of a post: the content of the user's home feed changed.
        case home = "home.changed"

        var isOfComment: Bool {
            switch self {
            case .commentCreated, .commentEdited, .commentDeleted: true
            case .new, .changed, .deleted, .home: false
            }
        }
    }

    /// Records a change of a post, at the end of the transaction.
    ///
    /// The lock on the post's row keeps the changes in order.
    static func record(_ kind: Kind, post: PostKey, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).record(kind, of: [post])
    }

    /// Records a change of a comment, and so of its post, under the lock of the post's row.
    static func record(_ kind: Kind, comment: CommentKey, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).record(kind, of: comment)
    }

    static func record(_ kind: Kind, posts: [PostKey], in db: some PostgresExecutor) async throws {
        guard !posts.isEmpty else { return }
        try await ChangeStore(db: db).record(kind, of: posts)
    }

    /// Records that the user follows or sees other users than before; the user's home streams receive `reload`.
    static func recordHomeChange(of person: Person.ID, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).record(.home, of: [PostKey(author: person, number: 0)])
    }
}
