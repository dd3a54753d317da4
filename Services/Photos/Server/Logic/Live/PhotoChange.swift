import Postgres

/// Notes what happens to posts, for those who follow it live.
///
/// It is noted in the transaction that makes it so, so it is told if and only if it is so. Whoever notes has nothing else to
/// do: once his request is answered, ``ChangeLog`` looks for what is new.
enum PhotoChange {
    enum Kind: String, Sendable {
        case new = "post.new"
        /// Edited, liked, commented on, hidden or shown again.
        case changed = "post.changed"
        case deleted = "post.deleted"
        /// Of a person and no post: what his home feed is made of is not what it was.
        case home = "home.changed"
    }

    /// Notes it of a post, and last of all: who has its row's lock keeps the order of what happens to it.
    static func note(_ kind: Kind, post: PostKey, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).note(kind, of: [post])
    }

    /// Notes it of many posts at once.
    static func note(_ kind: Kind, posts: [PostKey], in db: some PostgresExecutor) async throws {
        guard !posts.isEmpty else { return }
        try await ChangeStore(db: db).note(kind, of: posts)
    }

    /// Notes that somebody follows others than before, or sees others: his own home streams are told to begin anew.
    static func noteHome(of person: Person.ID, in db: some PostgresExecutor) async throws {
        try await ChangeStore(db: db).note(.home, of: [PostKey(author: person, number: 0)])
    }
}
