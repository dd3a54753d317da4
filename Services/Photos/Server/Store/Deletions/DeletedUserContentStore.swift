import Postgres
import Wire

/// The comments, likes and flags of a deleted user, in all tables that contain them.
///
/// Each method deletes a few rows under the locks of the posts that count them. Posts are locked in one order, so that
/// concurrent deletions cannot deadlock.
struct DeletedUserContentStore<Executor: PostgresExecutor> {
    let db: Executor

    func posts(by person: Person.ID, limit: Int) async throws -> [PostKey] {
        try await db.all(
            "SELECT author_id, number FROM posts WHERE author_id = \(person) ORDER BY number LIMIT \(limit)",
            as: PostKey.init(row:)
        )
    }

    /// Returns posts that the user liked, commented on or flagged something of, at most `limit`.
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
            WITH deleted AS (
                DELETE FROM likes
                USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS given (author_id, number)
                WHERE likes.author_id = given.author_id AND likes.number = given.number AND likes.liker_id = \(person)
                RETURNING likes.author_id, likes.number
            )
            UPDATE posts SET like_count = like_count - 1
            FROM deleted WHERE posts.author_id = deleted.author_id AND posts.number = deleted.number
            """
        )
    }

    /// Deletes comments with their flags; records each deletion for the streams of its post.
    func removeComments(by person: Person.ID, of posts: [PostKey]) async throws {
        try await db.run(
            """
            WITH deleted AS (
                DELETE FROM comments
                USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS given (author_id, number)
                WHERE comments.author_id = given.author_id AND comments.number = given.number
                    AND comments.writer_id = \(person)
                RETURNING comments.author_id, comments.number, comments.comment_id
            ),
            recorded_changes AS (
                INSERT INTO pending_changes (application_id, kind, author_id, number, comment_id)
                SELECT people.application_id, \(PhotoChange.Kind.commentDeleted.rawValue),
                       deleted.author_id, deleted.number, deleted.comment_id
                FROM deleted JOIN people ON people.person_id = deleted.author_id
            ),
            deleted_flagged_items AS (
                DELETE FROM flagged_items USING deleted WHERE \(unsafe: Self.same("flagged_items"))
            ),
            deleted_flags AS (DELETE FROM flags USING deleted WHERE \(unsafe: Self.same("flags")))
            UPDATE posts SET comment_count = comment_count - counted.comments
            FROM (SELECT author_id, number, count(*) AS comments FROM deleted GROUP BY author_id, number) AS counted
            WHERE posts.author_id = counted.author_id AND posts.number = counted.number
            """
        )
    }

    func removeFlags(by person: Person.ID, of posts: [PostKey]) async throws {
        try await db.run(
            """
            WITH deleted AS (
                DELETE FROM flags
                USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS given (author_id, number)
                WHERE flags.author_id = given.author_id AND flags.number = given.number
                    AND flags.flagger_id = \(person)
                RETURNING flags.author_id, flags.number, flags.comment_id
            )
            UPDATE flagged_items SET flag_count = flag_count - 1
            FROM deleted WHERE \(unsafe: Self.same("flagged_items"))
            """
        )
        try await db.run(
            """
            DELETE FROM flagged_items
            USING unnest(\(posts.map(\.author.rawValue)), \(posts.map(\.number))) AS given (author_id, number)
            WHERE flagged_items.author_id = given.author_id AND flagged_items.number = given.number
                AND flagged_items.flag_count = 0
            """
        )
    }

    private static func same(_ table: String) -> String {
        """
        \(table).author_id = deleted.author_id AND \(table).number = deleted.number
            AND \(table).comment_id = deleted.comment_id
        """
    }
}
