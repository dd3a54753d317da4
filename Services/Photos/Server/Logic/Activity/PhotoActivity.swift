import Postgres

/// Records activity for push notifications, as the last statements of the transaction that causes it.
///
/// Users are not notified about their own activity, nor about that of users with a block to or from them.
/// ``ActivityOutbox`` delivers the activity.
enum PhotoActivity {
    enum Kind: String, Sendable { case like, comment, follow }

    /// Records a follow, once for each pair of users, even if the follower unfollows and follows again.
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
