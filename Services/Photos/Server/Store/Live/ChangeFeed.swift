import Foundation
import Postgres
import Wire

/// What of the changes somebody may hear of.
struct ChangeFeed<Executor: PostgresExecutor> {
    let db: Executor

    /// How many changes are looked at in one statement, whether the listener may hear of them or not.
    static var window: Int { 500 }

    /// What follows a place, at most a window of it, for somebody who listens to all or to what his home feed is made of.
    ///
    /// The last change of the window is there in any case, so that the listener goes on behind it.
    func changes(
        after place: Int64,
        in application: String,
        for listener: Person.ID,
        home: Bool
    ) async throws -> [PlacedChange] {
        try await db.all(
            """
            WITH looked_at AS MATERIALIZED (
                SELECT place, kind, author_id, number, placed_at FROM changes
                WHERE application_id = \(application) AND place > \(place)
                ORDER BY place LIMIT \(Self.window)
            ), judged AS (
                SELECT looked_at.*, CASE
                    WHEN kind = \(PhotoChange.Kind.home.rawValue) THEN \(home) AND author_id = \(listener)
                    WHEN author_id = \(listener) THEN true
                    ELSE \(unblocked: "author_id", by: listener) AND (NOT \(home) OR EXISTS (
                        SELECT FROM follows
                        WHERE follows.follower_id = \(listener) AND follows.followee_id = looked_at.author_id
                    ))
                END AS is_heard
                FROM looked_at
            )
            SELECT place, kind, author_id, number, placed_at, is_heard FROM judged
            WHERE is_heard OR place = (SELECT max(place) FROM looked_at)
                OR place = (SELECT min(place) FROM looked_at)
            ORDER BY place
            """,
            as: PlacedChange.init(row:)
        )
    }
}

/// A change that has its place.
struct PlacedChange: Hashable, Sendable {
    /// Nil for a kind that another release notes and this one does not know.
    let kind: PhotoChange.Kind?
    let post: PostKey
    let mark: ChangeMark
    /// Whether the listener may hear of it.
    let isHeard: Bool

    fileprivate init(row: PostgresRow) throws {
        kind = PhotoChange.Kind(rawValue: try row.string("kind"))
        post = PostKey(author: try row.decode("author_id"), number: try row.int64("number"))
        mark = ChangeMark(place: try row.int64("place"), at: try row.date("placed_at"))
        isHeard = try row.bool("is_heard")
    }
}
