import Foundation
import PhotosAPI
import Postgres
import Wire

struct LikePosition: Codable, Sendable {
    let person: Int64
    let microseconds: Int64
}

/// The table `likes`, and the like counts in `posts`.
///
/// All changes run under the post's lock, so the times are in commit order.
struct LikeStore<Executor: PostgresExecutor> {
    let db: Executor
    let links: MediaLinks

    /// Returns the new count; nil if the user already liked the post.
    func insert(by person: Person.ID, on post: PostKey) async throws -> Int? {
        let isNew = try await db.run(
            """
            INSERT INTO likes (author_id, number, liker_id, created_at)
            VALUES (\(post.author), \(post.number), \(person), clock_timestamp())
            ON CONFLICT DO NOTHING
            """
        )
        return isNew == 1 ? try await count(1, of: post) : nil
    }

    /// Returns the new count; nil if the user did not like the post.
    func delete(by person: Person.ID, on post: PostKey) async throws -> Int? {
        let deletedRows = try await db.run(
            """
            DELETE FROM likes
            WHERE author_id = \(post.author) AND number = \(post.number) AND liker_id = \(person)
            """
        )
        return deletedRows == 1 ? try await count(-1, of: post) : nil
    }

    private func count(_ change: Int, of post: PostKey) async throws -> Int {
        try await db.one(
            """
            UPDATE posts SET like_count = like_count + \(change)
            WHERE author_id = \(post.author) AND number = \(post.number)
            RETURNING like_count
            """,
            as: { try $0.int("like_count") }
        )
    }

    func page(
        of post: PostKey,
        for viewer: Person.ID,
        after last: LikePosition?,
        limit: Int
    ) async throws -> [(like: Like, position: LikePosition)] {
        let time = last.map { Date(microseconds: $0.microseconds) } ?? FeedPosition.beforeAll.createdAt
        return try await db.all(
            """
            SELECT likes.liker_id, likes.created_at, people.user_id, people.full_name, people.picture_url
            FROM likes JOIN people ON people.person_id = likes.liker_id
            WHERE likes.author_id = \(post.author) AND likes.number = \(post.number)
                AND (likes.created_at, likes.liker_id) < (\(time), \(last?.person ?? .max))
                AND \(unblocked: "likes.liker_id", by: viewer)
            ORDER BY likes.created_at DESC, likes.liker_id DESC LIMIT \(limit)
            """,
            as: { row in
                let time = try row.date("created_at")
                return (
                    Like(author: try Author(row: row, links), timestamp: time),
                    LikePosition(person: try row.int64("liker_id"), microseconds: time.microseconds)
                )
            }
        )
    }
}
