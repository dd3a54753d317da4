import Postgres
import Wire

/// The posts of an author that are not yet copied to a follower's feed: those after `synced`, up to `last`.
struct FeedGap: Hashable, Sendable {
    let author: Person.ID
    let synced: Int64
    let last: Int64
    /// Whether the author now has so many followers that the posts are to be merged on read instead of being copied.
    let isPopular: Bool

    init(author: Person.ID, synced: Int64, last: Int64, isPopular: Bool = false) {
        self.author = author
        self.synced = synced
        self.last = last
        self.isPopular = isPopular
    }
}

/// The table `feed` of posts copied to home feeds, and the positions in `follows` up to which posts are copied.
///
/// A position moves in the transaction that copies, under the lock of its row. So an unfollow waits for the copy, and
/// two concurrent reads of a feed copy no post twice.
struct FeedStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Locks the positions that are behind, and returns the gaps; authors with `mergeThreshold` followers are popular.
    func lockGaps(of owner: Person.ID, mergeThreshold: Int) async throws -> [FeedGap] {
        try await db.all(
            """
            SELECT follows.followee_id, follows.synced_number, authors.last_post_number,
                   authors.follower_count >= \(mergeThreshold) AS is_popular
            FROM follows
            CROSS JOIN LATERAL (
                SELECT last_post_number, follower_count FROM people WHERE person_id = follows.followee_id LIMIT 1
            ) AS authors
            WHERE follows.follower_id = \(owner) AND follows.synced_number < authors.last_post_number
            ORDER BY follows.followee_id
            FOR NO KEY UPDATE OF follows
            """,
            as: { row in
                FeedGap(
                    author: try row.decode("followee_id"),
                    synced: try row.int64("synced_number"),
                    last: try row.int64("last_post_number"),
                    isPopular: try row.bool("is_popular")
                )
            }
        )
    }

    /// Switches authors to merging, as long as fewer than `limit` are merged; their positions must be locked.
    ///
    /// Posts that were copied before stay in the feed and are not duplicated by the merge.
    ///
    /// - Returns: The authors that were switched.
    func merge(_ authors: [Person.ID], of owner: Person.ID, upTo limit: Int) async throws -> Set<Person.ID> {
        let merged: [Person.ID] = try await db.all(
            """
            UPDATE follows SET synced_number = NULL
            WHERE follower_id = \(owner) AND followee_id IN (
                SELECT author_id FROM unnest(\(authors.map(\.rawValue))) AS popular (author_id)
                ORDER BY author_id LIMIT greatest(0, \(limit) - (
                    SELECT count(*) FROM follows AS others
                    WHERE others.follower_id = \(owner) AND others.synced_number IS NULL
                ))
            )
            RETURNING followee_id
            """,
            as: { try $0.decode("followee_id") }
        )
        return Set(merged)
    }

    /// Copies the posts of gaps and moves the positions, which must be locked.
    ///
    /// The condition on `application_id` is in no index of an author's posts. It makes PostgreSQL choose the index on
    /// `(author_id, number)`; with other plans it reads all posts of the author.
    func copyPosts(_ gaps: [FeedGap], of owner: Person) async throws {
        try await db.run(
            """
            WITH gaps AS MATERIALIZED (
                SELECT author_id, synced, last
                FROM unnest(\(gaps.map(\.author.rawValue)), \(gaps.map(\.synced)), \(gaps.map(\.last)))
                    AS given (author_id, synced, last)
            ), copied AS (
                INSERT INTO feed (owner_id, created_at, author_id, number)
                SELECT \(owner.id), posts.created_at, posts.author_id, posts.number
                FROM gaps CROSS JOIN LATERAL (
                    SELECT created_at, author_id, number FROM posts
                    WHERE posts.author_id = gaps.author_id AND number > gaps.synced AND number <= gaps.last
                        AND posts.application_id = \(owner.user.application)
                    ORDER BY number
                ) AS posts
                ON CONFLICT DO NOTHING
            )
            UPDATE follows SET synced_number = gaps.last FROM gaps
            WHERE follower_id = \(owner.id) AND followee_id = gaps.author_id
            """
        )
    }

    func delete(by author: Person.ID, of owner: Person.ID) async throws {
        try await db.run("DELETE FROM feed WHERE owner_id = \(owner) AND author_id = \(author)")
    }

    func delete(_ positions: [FeedPosition], of owner: Person.ID) async throws {
        try await db.run(
            """
            DELETE FROM feed USING unnest(
                \(positions.map(\.createdAt)), \(positions.map(\.key.author.rawValue)), \(positions.map(\.key.number))
            ) AS deleted (created_at, author_id, number)
            WHERE owner_id = \(owner) AND feed.created_at = deleted.created_at AND feed.author_id = deleted.author_id
                AND feed.number = deleted.number
            """
        )
    }
}
