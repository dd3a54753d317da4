import Foundation
import PhotosAPI
import Postgres
import TestSupport
import Wire

extension PhotosFixture {
    /// Inserts uploads of a user as rows without files, and returns their ids.
    func uploads(_ count: Int, of testUser: TestUser) async throws -> [String] {
        // The first request creates the user's row.
        _ = try await testUser.photos.posts(limit: 1)
        let ids = (0..<count).map { _ in UUID().uuidString.lowercased() }
        try await service.database.pool.run(
            """
            WITH made AS (
                INSERT INTO files (owner_id, sha256, full_key, thumbnail_key, width, height, blurhash)
                SELECT person_id, sha256(convert_to(id, 'UTF8')), id, id || '-small', 1280, 960,
                       'LEHV6nWB2yk8pyo0adR*.7kCMdnj'
                FROM people, unnest(\(ids)) AS id
                WHERE application_id = \(testUser.id.application) AND user_id = \(testUser.id.user)
                RETURNING owner_id, file_id, full_key
            )
            INSERT INTO uploads (owner_id, upload_id, file_id, expires_at)
            SELECT owner_id, full_key, file_id, clock_timestamp() + interval '1 day' FROM made
            """
        )
        return ids
    }

    /// Creates a post with one image.
    @discardableResult
    func post(_ text: String = "", by testUser: TestUser) async throws -> Post {
        try await testUser.photos.post(PostDraft(text: text, uploadIds: uploads(1, of: testUser)))
    }

    /// Inserts a block between two users.
    func block(_ blocked: TestUser, by blocker: TestUser) async throws {
        for testUser in [blocked, blocker] { _ = try await testUser.photos.posts(limit: 1) }
        try await service.database.pool.run(
            """
            INSERT INTO blocks (blocker_id, blocked_id)
            SELECT one.person_id, other.person_id FROM people AS one, people AS other
            WHERE one.application_id = \(blocker.id.application) AND one.user_id = \(blocker.id.user)
                AND other.application_id = \(blocked.id.application) AND other.user_id = \(blocked.id.user)
            """
        )
    }

    /// Returns the counters that disagree with the rows that they count.
    func countInconsistencies() async throws -> [String] {
        try await rows(
            """
            SELECT 'likes of ' || author_id || '-' || number AS row FROM posts WHERE like_count <> (
                SELECT count(*) FROM likes
                WHERE likes.author_id = posts.author_id AND likes.number = posts.number)
            UNION ALL
            SELECT 'comments of ' || author_id || '-' || number FROM posts WHERE comment_count <> (
                SELECT count(*) FROM comments
                WHERE comments.author_id = posts.author_id AND comments.number = posts.number)
            UNION ALL
            SELECT 'posts of ' || person_id FROM people
            WHERE post_count <> (SELECT count(*) FROM posts WHERE author_id = person_id)
            UNION ALL
            SELECT 'hashtag ' || coalesce(hashtags.tag, there.tag) FROM hashtags FULL JOIN (
                SELECT tagged.application_id, tagged.tag, count(*) AS posts
                FROM post_hashtags AS tagged JOIN posts USING (author_id, number)
                WHERE posts.hidden_at IS NULL GROUP BY 1, 2
            ) AS there USING (application_id, tag)
            WHERE hashtags.post_count IS DISTINCT FROM there.posts
            UNION ALL
            SELECT 'flags of ' || author_id || '-' || number || '/' || comment_id FROM flagged_items WHERE flag_count <> (
                SELECT count(*) FROM flags WHERE flags.author_id = flagged_items.author_id
                    AND flags.number = flagged_items.number AND flags.comment_id = flagged_items.comment_id)
            """
        )
    }
}
