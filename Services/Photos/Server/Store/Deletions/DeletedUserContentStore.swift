import Postgres
import Wire

/// What somebody who goes has said of others' posts, in all tables that name him for it.
///
/// Each takes a few rows away, under the locks of the posts that they belong to and count them; these are taken in one
/// order, so that two who go at once never wait in a circle.
struct DeletedUserContentStore<Executor: PostgresExecutor> {
    let db: Executor

    func posts(by person: Person.ID, limit: Int) async throws -> [PostKey] {
        try await db.all(
            "SELECT author_id, number FROM posts WHERE author_id = \(person) ORDER BY number LIMIT \(limit)",
            as: PostKey.init(row:)
        )
    }

    /// The posts that he liked, commented on or flagged something of, as far as they go with so many rows.
    func postsCommentedOrLiked(_ person: Person.ID, limit: Int) async throws -> [PostKey] {
        try await db.all(
            """
            (SELECT DISTINCT author_id, number FROM likes WHERE liker_id = \(person)
             ORDER BY author_id, number LIMIT \(limit))
            UNION
            (SELECT DISTINCT author_id, number FROM comments WHERE writer_id = \(person)
             ORDER BY author_id, number LIMIT \(limit))
            UNION
            (SELECT DISTINCT author_id, number FROM flags WHERE flagger_id = \(person)
             ORDER BY author_id, number LIMIT \(limit))
            ORDER BY author_id, number LIMIT \(limit)
            """,
            as: PostKey.init(row:)
        )
    }

    /// Those that are there still, locked in their order.
    func lock(_ posts: [PostKey]) async throws -> [PostKey] {
        try await db.all(
            """
            SELECT author_id, number FROM posts
            WHERE (author_id, number) IN (
                SELECT * FROM unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number)))
            )
            ORDER BY author_id, number FOR NO KEY UPDATE
            """,
            as: PostKey.init(row:)
        )
    }

    func removeLikes(by person: Person.ID, of posts: [PostKey]) async throws {
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM likes
                USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS asked (author_id, number)
                WHERE likes.author_id = asked.author_id AND likes.number = asked.number AND likes.liker_id = \(person)
                RETURNING likes.author_id, likes.number
            )
            UPDATE posts SET like_count = like_count - 1
            FROM gone WHERE posts.author_id = gone.author_id AND posts.number = gone.number
            """
        )
    }

    /// With what others flagged about them; notes each removal for the streams of its post.
    func removeComments(by person: Person.ID, of posts: [PostKey]) async throws {
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM comments
                USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS asked (author_id, number)
                WHERE comments.author_id = asked.author_id AND comments.number = asked.number
                    AND comments.writer_id = \(person)
                RETURNING comments.author_id, comments.number, comments.comment_id
            ),
            noted AS (
                INSERT INTO pending_changes (application_id, kind, author_id, number, comment_id)
                SELECT people.application_id, \(PhotoChange.Kind.commentDeleted.rawValue), gone.author_id, gone.number,
                       gone.comment_id
                FROM gone JOIN people ON people.person_id = gone.author_id
            ),
            deleted_flagged_items AS (DELETE FROM flagged_items USING gone WHERE \(unsafe: Self.same("flagged_items"))),
            deleted_flags AS (DELETE FROM flags USING gone WHERE \(unsafe: Self.same("flags")))
            UPDATE posts SET comment_count = comment_count - counted.comments
            FROM (SELECT author_id, number, count(*) AS comments FROM gone GROUP BY author_id, number) AS counted
            WHERE posts.author_id = counted.author_id AND posts.number = counted.number
            """
        )
    }

    func removeFlags(by person: Person.ID, of posts: [PostKey]) async throws {
        try await db.run(
            """
            WITH gone AS (
                DELETE FROM flags
                USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS asked (author_id, number)
                WHERE flags.author_id = asked.author_id AND flags.number = asked.number
                    AND flags.flagger_id = \(person)
                RETURNING flags.author_id, flags.number, flags.comment_id
            )
            UPDATE flagged_items SET flag_count = flag_count - 1 FROM gone WHERE \(unsafe: Self.same("flagged_items"))
            """
        )
        try await db.run(
            """
            DELETE FROM flagged_items
            USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS asked (author_id, number)
            WHERE flagged_items.author_id = asked.author_id AND flagged_items.number = asked.number AND flagged_items.flag_count = 0
            """
        )
    }

    private static func same(_ table: String) -> String {
        """
        \(table).author_id = gone.author_id AND \(table).number = gone.number
            AND \(table).comment_id = gone.comment_id
        """
    }
}
