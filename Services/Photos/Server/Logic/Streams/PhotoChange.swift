import Postgres

/// Notes what happens to posts, for those who follow it live.
///
/// It is noted in the transaction that makes it so, so it is told if and only if it is so. Whoever notes has nothing else to
/// do: once his request is answered, ``ChangeLog`` looks for what is new.
enum PhotoChange {
    enum Kind: String, Sendable {
        case new = "post.new"
        /// Edited, liked, hidden or shown again.
        case changed = "post.changed"
        case deleted = "post.deleted"
        /// A change of the post as well: its comments are counted, and the latest are shown with it.
        case commentCreated = "comment.created"
        case commentEdited = "comment.edited"
        case commentDeleted = "comment.deleted"
        /// Of a person and no post: what his home feed is made of is not what it was.
        case home = "home.changed"

        /// Whether the change names a comment.
        var isOfComment: Bool {
            switch self {
            case .commentCreated, .commentEdited, .commentDeleted: true
            case .new, .changed, .deleted, .home: false
            }
        }
    }

    /// Notes it of a post, and last of all: who has its row's lock keeps the order of what happens to it.
    static func record(_ kind: Kind, post: PostKey, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).record(kind, of: [post])
    }

    /// Notes a change of a comment, and so of its post, under the lock of the post's row.
    static func record(_ kind: Kind, comment: CommentKey, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).record(kind, of: comment)
    }

    /// Notes it of many posts at once.
    static func record(_ kind: Kind, posts: [PostKey], in db: some PostgresExecutor) async throws {
        guard !posts.isEmpty else { return }
        try await ChangeStore(db: db).record(kind, of: posts)
    }

    /// Notes that somebody follows others than before, or sees others: his own home streams are told to begin anew.
    static func recordHomeChange(of person: Person.ID, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).record(.home, of: [PostKey(author: person, number: 0)])
    }
}
