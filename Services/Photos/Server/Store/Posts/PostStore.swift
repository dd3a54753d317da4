import Foundation
import PhotosAPI
import Postgres
import Wire

/// The tables `posts`, `post_images` and `post_hashtags`, and the post counters in `people`.
///
/// Locks are taken in one order everywhere: the author's row, the post's row, then rows of hashtags by tag.
struct PostStore<Executor: PostgresExecutor> {
    let db: Executor
    let links: MediaLinks

    /// Takes the author's next number and time, and counts the post; returns nil if the author was deleted.
    func begin(by author: Person.ID) async throws -> FeedPosition? {
        try await db.first(
            """
            UPDATE people
            SET last_post_number = last_post_number + 1, post_count = post_count + 1,
                last_posted_at = greatest(clock_timestamp(), last_posted_at)
            WHERE person_id = \(author)
            RETURNING person_id AS author_id, last_post_number AS number, last_posted_at AS created_at
            """,
            as: FeedPosition.init(row:)
        )
    }

    func insert(_ post: NewPost) async throws {
        let (author, number, images) = (post.key.author, post.key.number, post.images)
        try await db.run(
            """
            WITH post AS (
                INSERT INTO posts (author_id, number, application_id, text, created_at)
                VALUES (\(author), \(number), \(post.application), \(post.text), \(post.createdAt))
            ),
            tagged AS (
                INSERT INTO post_hashtags (author_id, number, ordinal, application_id, tag, created_at)
                SELECT \(author), \(number), ordinal, \(post.application), tag, \(post.createdAt)
                FROM unnest(\(post.hashtags)) WITH ORDINALITY AS given (tag, ordinal)
            )
            INSERT INTO post_images (
                author_id, number, ordinal, url, thumbnail_url, width, height, blurhash, alt
            )
            SELECT \(author), \(number), ordinal, url, thumbnail_url, width, height, blurhash, alt
            FROM unnest(
                \(images.map(\.image.url)), \(images.map(\.image.thumbnailURL)), \(images.map(\.image.width)),
                \(images.map(\.image.height)), \(images.map(\.image.blurhash)), \(images.map(\.alt))
            ) WITH ORDINALITY AS given (url, thumbnail_url, width, height, blurhash, alt, ordinal)
            """
        )
    }

    /// Locks a post against changes until the transaction ends; returns nil if the viewer does not see it.
    func lock(_ key: PostKey, for viewer: Viewer) async throws -> LockedPost? {
        try await db.first(
            """
            SELECT application_id, text, created_at, hidden_at IS NOT NULL AS is_hidden, like_count
            FROM posts
            WHERE author_id = \(key.author) AND number = \(key.number) AND \(visible: "posts", to: viewer)
            FOR NO KEY UPDATE
            """,
            as: { row in
                LockedPost(
                    key: key,
                    application: try row.string("application_id"),
                    text: try row.string("text"),
                    createdAt: try row.date("created_at"),
                    isHidden: try row.bool("is_hidden"),
                    likeCount: try row.int("like_count")
                )
            }
        )
    }

    func isVisible(_ key: PostKey, to viewer: Viewer) async throws -> Bool {
        try await db.first(
            """
            SELECT FROM posts
            WHERE author_id = \(key.author) AND number = \(key.number) AND \(visible: "posts", to: viewer)
            """,
            as: { _ in true }
        ) ?? false
    }

    func counts(of key: PostKey, for viewer: Viewer) async throws -> PostCounts? {
        try await db.first(
            """
            SELECT like_count, comment_count, EXISTS (
                SELECT FROM likes
                WHERE likes.author_id = posts.author_id AND likes.number = posts.number
                    AND likes.liker_id = \(viewer.id)
            ) AS is_liked
            FROM posts
            WHERE author_id = \(key.author) AND number = \(key.number) AND \(visible: "posts", to: viewer)
            """,
            as: { row in
                PostCounts(
                    likeCount: try row.int("like_count"),
                    isLiked: try row.bool("is_liked"),
                    commentCount: try row.int("comment_count")
                )
            }
        )
    }

    func set(text: String, of key: PostKey) async throws {
        try await db.run(
            "UPDATE posts SET text = \(text) WHERE author_id = \(key.author) AND number = \(key.number)"
        )
    }

    func set(hashtags: [String], of post: LockedPost) async throws {
        let key = post.key
        try await db.run(
            """
            DELETE FROM post_hashtags WHERE author_id = \(key.author) AND number = \(key.number)
            """
        )
        try await db.run(
            """
            INSERT INTO post_hashtags (author_id, number, ordinal, application_id, tag, created_at)
            SELECT \(key.author), \(key.number), ordinal, \(post.application), tag, \(post.createdAt)
            FROM unnest(\(hashtags)) WITH ORDINALITY AS given (tag, ordinal)
            """
        )
    }

    func hashtags(of key: PostKey) async throws -> [String] {
        try await db.all(
            """
            SELECT tag FROM post_hashtags WHERE author_id = \(key.author) AND number = \(key.number) ORDER BY ordinal
            """,
            as: { try $0.string("tag") }
        )
    }

    func alts(of key: PostKey) async throws -> [String?] {
        try await db.all(
            """
            SELECT alt FROM post_images WHERE author_id = \(key.author) AND number = \(key.number) ORDER BY ordinal
            """,
            as: { try $0.optionalString("alt") }
        )
    }

    func set(alts: [String?], of key: PostKey) async throws {
        try await db.run(
            """
            UPDATE post_images SET alt = given.alt
            FROM unnest(\(alts)) WITH ORDINALITY AS given (alt, ordinal)
            WHERE author_id = \(key.author) AND number = \(key.number) AND post_images.ordinal = given.ordinal
            """
        )
    }

    func markEdited(of key: PostKey) async throws {
        try await db.run(
            """
            UPDATE posts SET edited_at = clock_timestamp()
            WHERE author_id = \(key.author) AND number = \(key.number)
            """
        )
    }

    func set(hidden: Bool, _ key: PostKey) async throws {
        try await db.run(
            """
            UPDATE posts SET hidden_at = CASE WHEN \(hidden) THEN clock_timestamp() END
            WHERE author_id = \(key.author) AND number = \(key.number)
            """
        )
    }

    /// Deletes a post with its images and hashtags; comments, likes and flags are deleted later.
    func delete(_ key: PostKey) async throws {
        try await db.run(
            """
            WITH deleted AS (
                DELETE FROM posts WHERE author_id = \(key.author) AND number = \(key.number)
                RETURNING author_id, number
            )
            INSERT INTO deleted_posts (author_id, number) SELECT author_id, number FROM deleted
            """
        )
    }

    /// Locks an author against new and deleted posts until the transaction ends; returns false if the author was
    /// deleted.
    func lock(author: Person.ID) async throws -> Bool {
        try await db.first(
            "SELECT FROM people WHERE person_id = \(author) FOR NO KEY UPDATE",
            as: { _ in true }
        ) ?? false
    }

    func decrementPostCount(_ author: Person.ID) async throws {
        try await db.run("UPDATE people SET post_count = post_count - 1 WHERE person_id = \(author)")
    }
}
