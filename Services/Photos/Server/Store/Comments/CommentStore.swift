import Foundation
import PhotosAPI
import Postgres
import Wire

struct CommentKey: Hashable, Sendable {
    let post: PostKey
    let number: Int64
}

struct CommentAccess: Sendable {
    let writer: Person.ID
    let text: String
    let isVisible: Bool
}

/// The table `comments`, and the comment counts in `posts`.
///
/// All changes run under the post's lock.
struct CommentStore<Executor: PostgresExecutor> {
    let db: Executor
    let links: MediaLinks

    func insert(_ text: String, by writer: Person.ID, on post: PostKey) async throws -> CommentKey {
        let number = try await db.one(
            """
            UPDATE posts SET comment_count = comment_count + 1, last_comment_id = last_comment_id + 1
            WHERE author_id = \(post.author) AND number = \(post.number)
            RETURNING last_comment_id
            """,
            as: { try $0.int64("last_comment_id") }
        )
        try await db.run(
            """
            INSERT INTO comments (author_id, number, comment_id, writer_id, text, created_at)
            VALUES (\(post.author), \(post.number), \(number), \(writer), \(text), clock_timestamp())
            """
        )
        return CommentKey(post: post, number: number)
    }

    func access(_ key: CommentKey, for viewer: Viewer) async throws -> CommentAccess? {
        try await db.first(
            """
            SELECT writer_id, text, \(unblocked: "writer_id", by: viewer) AS is_visible FROM comments
            WHERE author_id = \(key.post.author) AND number = \(key.post.number) AND comment_id = \(key.number)
            """,
            as: { row in
                CommentAccess(
                    writer: try row.decode("writer_id"),
                    text: try row.string("text"),
                    isVisible: try row.bool("is_visible")
                )
            }
        )
    }

    func set(text: String, of key: CommentKey) async throws {
        try await db.run(
            """
            UPDATE comments SET text = \(text), edited_at = clock_timestamp()
            WHERE author_id = \(key.post.author) AND number = \(key.post.number) AND comment_id = \(key.number)
            """
        )
    }

    func delete(_ key: CommentKey) async throws {
        let (author, number, comment) = (key.post.author, key.post.number, key.number)
        try await db.run(
            """
            WITH deleted_flagged_items AS (
                DELETE FROM flagged_items WHERE author_id = \(author) AND number = \(number) AND comment_id = \(comment)
            ),
            deleted_flags AS (
                DELETE FROM flags WHERE author_id = \(author) AND number = \(number) AND comment_id = \(comment)
            ),
            deleted AS (
                DELETE FROM comments WHERE author_id = \(author) AND number = \(number) AND comment_id = \(comment)
                RETURNING author_id, number
            )
            UPDATE posts SET comment_count = comment_count - 1
            FROM deleted WHERE posts.author_id = deleted.author_id AND posts.number = deleted.number
            """
        )
    }

    func page(of post: PostKey, for viewer: Viewer, before last: Int64?, limit: Int) async throws -> [Comment] {
        try await db.all(
            """
            SELECT \(unsafe: Self.columns)
            FROM comments JOIN people ON people.person_id = comments.writer_id
            WHERE comments.author_id = \(post.author) AND comments.number = \(post.number)
                AND comments.comment_id < \(last ?? .max) AND \(unblocked: "comments.writer_id", by: viewer)
            ORDER BY comments.comment_id DESC LIMIT \(limit)
            """,
            as: { try Comment(row: $0, links) }
        )
    }

    func comment(_ key: CommentKey) async throws -> Comment? {
        try await comments([key]).first?.value
    }

    func comments(
        _ keys: [CommentKey],
        for viewer: Viewer = .everything
    ) async throws -> [CommentKey: Comment] {
        guard !keys.isEmpty else { return [:] }
        let found = try await db.all(
            """
            SELECT comments.author_id, comments.number, \(unsafe: Self.columns)
            FROM unnest(
                \(keys.map(\.post.author.rawValue)), \(keys.map(\.post.number)), \(keys.map(\.number))
            ) AS requested (author_id, number, comment_id)
            JOIN comments ON comments.author_id = requested.author_id AND comments.number = requested.number
                AND comments.comment_id = requested.comment_id
            JOIN people ON people.person_id = comments.writer_id
            WHERE \(unblocked: "comments.writer_id", by: viewer)
            """,
            as: { row in
                (
                    CommentKey(post: try PostKey(row: row), number: try row.int64("comment_id")),
                    try Comment(row: row, links)
                )
            }
        )
        return Dictionary(found) { first, _ in first }
    }

    private static var columns: String {
        """
        comments.comment_id, comments.text, comments.created_at, comments.edited_at,
        people.user_id, people.full_name, people.picture_url
        """
    }
}

extension Comment {
    fileprivate init(row: PostgresRow, _ links: MediaLinks) throws {
        self.init(
            commentId: "\(try row.int64("comment_id"))",
            author: try Author(row: row, links),
            text: try row.string("text"),
            timestamp: try row.date("created_at"),
            editedAt: try row.optionalDate("edited_at")
        )
    }
}
