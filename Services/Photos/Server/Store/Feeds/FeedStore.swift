import Postgres
import Wire

/// Which posts of an author are still to be copied to a follower's feed: those after `synced`, up to `last`.
struct FeedGap: Hashable, Sendable {
    let author: Person.ID
    let synced: Int64
    let last: Int64
    /// Whether he has so many followers by now that his posts are to be merged in, and copied no more.
    let isPopular: Bool

    init(author: Person.ID, synced: Int64, last: Int64, isPopular: Bool = false) {
        self.author = author
        self.synced = synced
        self.last = last
        self.isPopular = isPopular
    }
}

/// The table `feed`, what was copied to home feeds, and the marks in `follows` that say how far.
///
/// A mark moves in the transaction that copies, under the lock of its row: who ends to follow waits for it, and two who
/// bring one feed up to date copy nothing twice.
struct FeedStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Locks the marks that are behind, and tells by how much, and whose author as many as `mergeThreshold` follow.
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

    /// Has authors merged in from now on, as long as there are fewer than `limit` of them; their marks are locked.
    ///
    /// What was copied of them stays, and is in the feed once all the same. Answers those it was done for.
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

    /// Copies the posts of these gaps and moves the marks, which are locked.
    ///
    /// The application, which no index of an author's posts has, leaves the one that has them by their numbers: by any other
    /// all that somebody ever posted would be read for his latest.
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

    /// Takes an author's posts out of a feed.
    func delete(by author: Person.ID, of owner: Person.ID) async throws {
        try await db.run("DELETE FROM feed WHERE owner_id = \(owner) AND author_id = \(author)")
    }

    /// Takes out posts that are gone.
    func delete(_ positions: [FeedPosition], of owner: Person.ID) async throws {
        try await db.run(
            """
            DELETE FROM feed USING unnest(
                \(positions.map(\.createdAt)), \(positions.map(\.key.author.rawValue)), \(positions.map(\.key.number))
            ) AS gone (created_at, author_id, number)
            WHERE owner_id = \(owner) AND feed.created_at = gone.created_at AND feed.author_id = gone.author_id
                AND feed.number = gone.number
            """
        )
    }
}
