import Postgres

/// Notes what somebody is to be told by push, in the transaction that makes it so, and last of all in it.
///
/// Nobody is told of what he does himself, nor of those whom a block keeps apart from him. ``ActivityOutbox`` hands it over.
enum PhotoActivity {
    enum Kind: String, Sendable { case like, comment, follow }

    /// Told once for each pair, however often the one comes back.
    static func follow(_ follower: Person.ID, _ followee: Person.ID, in db: some PostgresExecutor) async throws {
        try await ActivityStore(db: db).record(.follow, of: follower, to: followee)
    }

    static func like(_ person: Person.ID, _ post: PostKey, in db: some PostgresExecutor) async throws {
        try await ActivityStore(db: db).record(.like, of: person, to: post.author, number: post.number)
    }

    static func comment(
        _ person: Person.ID,
        _ comment: CommentKey,
        _ post: PostKey,
        in db: some PostgresExecutor
    ) async throws {
        try await ActivityStore(db: db).record(
            .comment,
            of: person,
            to: post.author,
            number: post.number,
            comment: comment.number
        )
    }
}
