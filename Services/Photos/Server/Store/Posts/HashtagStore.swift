import PhotosAPI
import Postgres
import Wire

/// The table `hashtags` of the number of posts with each hashtag, without hidden posts.
struct HashtagStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Changes the counts of hashtags; the rows are locked in the order of the tags.
    func count(_ changes: [String: Int64], in application: String) async throws {
        guard !changes.isEmpty else { return }
        let (tags, deltas) = (Array(changes.keys), Array(changes.values))
        try await db.run(
            """
            INSERT INTO hashtags (application_id, tag, post_count)
            SELECT \(application), tag, greatest(delta, 0)
            FROM unnest(\(tags), \(deltas)) AS given (tag, delta) ORDER BY tag COLLATE "C"
            ON CONFLICT (application_id, tag) DO UPDATE
            SET post_count = hashtags.post_count + (
                SELECT delta FROM unnest(\(tags), \(deltas)) AS given (tag, delta) WHERE given.tag = EXCLUDED.tag
            )
            """
        )
        guard deltas.contains(where: { $0 < 0 }) else { return }
        try await db.run(
            """
            DELETE FROM hashtags WHERE application_id = \(application) AND tag = ANY (\(tags)) AND post_count = 0
            """
        )
    }

    /// Returns the most used hashtags with a prefix, without those that only users with a block to or from the viewer
    /// use.
    func search(_ prefix: String, in application: String, for viewer: Person.ID, limit: Int) async throws -> [Hashtag] {
        try await db.all(
            """
            SELECT tag, post_count FROM (
                SELECT tag, post_count FROM hashtags
                WHERE application_id = \(application) AND tag >= \(prefix) AND tag < \(prefix + "\u{10FFFF}")
                ORDER BY post_count DESC, tag LIMIT \(limit * 5)
            ) AS most
            WHERE EXISTS (
                SELECT FROM post_hashtags AS tagged
                JOIN posts ON posts.author_id = tagged.author_id AND posts.number = tagged.number
                WHERE tagged.application_id = \(application) AND tagged.tag = most.tag
                    AND posts.hidden_at IS NULL AND \(unblocked: "tagged.author_id", by: viewer)
            )
            ORDER BY post_count DESC, tag LIMIT \(limit)
            """,
            as: { Hashtag(tag: try $0.string("tag"), postCount: try $0.int("post_count")) }
        )
    }
}
