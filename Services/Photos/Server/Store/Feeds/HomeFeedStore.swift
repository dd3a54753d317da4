import Postgres
import Wire

struct HomeEntries: Sendable {
    enum State: String, Sendable {
        case visible
        /// The post is hidden, or a block exists between its author and the reader.
        case invisible
        case deleted
    }

    struct Entry: Sendable {
        let position: FeedPosition
        let state: State
    }

    /// Whether posts that may belong among these entries are not copied yet.
    let isBehind: Bool
    let entries: [Entry]
}

/// Reads home feeds: copied posts, merged with the owner's own posts and those of popular authors.
struct HomeFeedStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns the entries after a position.
    ///
    /// One statement reads both the entries and whether the feed is behind, so that the two are consistent.
    ///
    /// The last post numbers of followed users are looked up one by one, so the time does not depend on the total
    /// number of users and posts.
    func entries(of owner: Person.ID, after last: FeedPosition, limit: Int) async throws -> HomeEntries {
        let rows = try await db.all(
            """
            WITH edges AS MATERIALIZED (
                SELECT followee_id, synced_number FROM follows JOIN people ON person_id = followee_id
                WHERE follower_id = \(owner) AND (synced_number IS NULL OR synced_number < last_post_number)
            ), copied AS MATERIALIZED (
                SELECT created_at, author_id, number FROM feed
                WHERE owner_id = \(owner)
                    AND (created_at, author_id, number) < (\(last.createdAt), \(last.key.author), \(last.key.number))
                ORDER BY created_at DESC, author_id DESC, number DESC LIMIT \(limit)
            ), merged AS MATERIALIZED (
                SELECT found.created_at, found.author_id, found.number
                FROM (
                    SELECT \(owner) AS author_id UNION ALL SELECT followee_id FROM edges WHERE synced_number IS NULL
                ) AS authors
                CROSS JOIN LATERAL (
                    SELECT created_at, author_id, number FROM posts
                    WHERE posts.author_id = authors.author_id AND created_at <= \(last.createdAt)
                        AND (created_at, author_id, number)
                            < (\(last.createdAt), \(last.key.author), \(last.key.number))
                    ORDER BY created_at DESC, number DESC LIMIT \(limit)
                ) AS found
            ), entries AS MATERIALIZED (
                SELECT created_at, author_id, number FROM copied
                UNION
                SELECT created_at, author_id, number FROM merged
                ORDER BY created_at DESC, author_id DESC, number DESC LIMIT \(limit)
            )
            SELECT feed.is_behind, entries.created_at, entries.author_id, entries.number,
                   CASE WHEN posts.number IS NULL THEN 'deleted'
                        WHEN posts.hidden_at IS NULL AND \(unblocked: "posts.author_id", by: owner) THEN 'visible'
                        ELSE 'invisible' END AS state
            FROM (SELECT EXISTS (SELECT FROM edges WHERE synced_number IS NOT NULL) AS is_behind) AS feed
            LEFT JOIN entries ON true
            LEFT JOIN posts ON posts.author_id = entries.author_id AND posts.number = entries.number
            ORDER BY entries.created_at DESC, entries.author_id DESC, entries.number DESC
            """,
            as: { (try $0.bool("is_behind"), try HomeEntries.Entry(row: $0)) }
        )
        return HomeEntries(isBehind: rows.first?.0 ?? false, entries: rows.compactMap(\.1))
    }
}

extension HomeEntries.Entry {
    /// Nil for the single row of an empty feed.
    fileprivate init?(row: PostgresRow) throws {
        guard try row.optionalInt64("number") != nil else { return nil }
        self.init(
            position: try FeedPosition(row: row),
            state: HomeEntries.State(rawValue: try row.string("state")) ?? .invisible
        )
    }
}
