import Foundation
import Postgres
import Wire

/// The positions of the posts in a list, newest first; `summaries(of:for:)` reads the posts.
///
/// Lists of an application and of a hashtag contain no hidden posts, not even for their authors, who see them in their
/// own lists.
extension PostStore {
    func page(
        of application: String,
        for viewer: Person.ID,
        after last: FeedPosition?,
        limit: Int
    ) async throws -> [FeedPosition] {
        let last = last ?? .beforeAll
        return try await db.all(
            """
            SELECT author_id, number, created_at FROM posts
            WHERE application_id = \(application) AND hidden_at IS NULL
                AND (created_at, author_id, number) < (\(last.createdAt), \(last.key.author), \(last.key.number))
                AND \(unblocked: "author_id", by: viewer)
            ORDER BY created_at DESC, author_id DESC, number DESC LIMIT \(limit)
            """,
            as: FeedPosition.init(row:)
        )
    }

    func page(
        tagged tag: String,
        of application: String,
        for viewer: Person.ID,
        after last: FeedPosition?,
        limit: Int
    ) async throws -> [FeedPosition] {
        let last = last ?? .beforeAll
        return try await db.all(
            """
            SELECT tagged.author_id, tagged.number, tagged.created_at
            FROM post_hashtags AS tagged
            JOIN posts ON posts.author_id = tagged.author_id AND posts.number = tagged.number
            WHERE tagged.application_id = \(application) AND tagged.tag = \(tag)
                AND (tagged.created_at, tagged.author_id, tagged.number)
                    < (\(last.createdAt), \(last.key.author), \(last.key.number))
                AND posts.hidden_at IS NULL AND \(unblocked: "tagged.author_id", by: viewer)
            ORDER BY tagged.created_at DESC, tagged.author_id DESC, tagged.number DESC LIMIT \(limit)
            """,
            as: FeedPosition.init(row:)
        )
    }

    func page(
        by author: Person.ID,
        for viewer: Person.ID,
        before number: Int64?,
        limit: Int
    ) async throws -> [PostKey] {
        try await db.all(
            """
            SELECT author_id, number FROM posts
            WHERE author_id = \(author) AND number < \(number ?? .max) AND \(visible: "posts", to: viewer)
            ORDER BY number DESC LIMIT \(limit)
            """,
            as: PostKey.init(row:)
        )
    }
}

extension FeedPosition {
    /// The position before the newest post; it uses the year 9999.
    static let beforeAll = FeedPosition(
        key: PostKey(author: Person.ID(.max), number: .max),
        createdAt: Date(timeIntervalSince1970: 253_370_764_800)
    )
}
