import PhotosAPI
import Postgres
import Wire

/// The table `hashtags`: how many posts, but for hidden ones, have which.
struct HashtagStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Counts posts more or less for each tag; their rows are locked in the order of their names.
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

    /// Those that begin with some text, the most used first, without those that only people have whom a block keeps apart
    /// from the viewer.
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
