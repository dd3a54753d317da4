import Postgres

/// What somebody is told of.
enum PhotoNews {
    static func like(_ person: Person.ID, _ post: PostKey, in db: PostgresTransaction) async throws {}

    static func comment(
        _ person: Person.ID,
        _ comment: CommentKey,
        _ post: PostKey,
        in db: PostgresTransaction
    ) async throws {}
}
