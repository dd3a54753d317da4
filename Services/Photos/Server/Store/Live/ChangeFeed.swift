import Foundation
import Postgres
import Wire

/// The posts whose changes a stream sends.
enum ChangeScope: Hashable, Sendable {
    /// The posts of the listener's home feed.
    case home
    /// All posts of the application.
    case all
    /// One post, with its comments.
    case post(PostKey)
}

/// What of the changes somebody may hear of.
struct ChangeFeed<Executor: PostgresExecutor> {
    let db: Executor

    /// How many changes are looked at in one statement, whether the listener may hear of them or not.
    static var window: Int { 500 }

    /// What follows a place, at most a window of it, for somebody who listens to posts of a scope.
    ///
    /// The last change of the window is there in any case, so that the listener goes on behind it.
    func changes(
        after place: Int64,
        in application: String,
        for listener: Person.ID,
        scope: ChangeScope
    ) async throws -> [PlacedChange] {
        try await db.all(
            """
            WITH looked_at AS MATERIALIZED (
                SELECT place, kind, author_id, number, comment_id, placed_at FROM changes
                WHERE application_id = \(application) AND place > \(place)
                ORDER BY place LIMIT \(Self.window)
            ), judged AS (
                SELECT looked_at.*, \(isHeardIn: scope, by: listener) AS is_heard FROM looked_at
            )
            SELECT place, kind, author_id, number, comment_id, placed_at, is_heard FROM judged
            WHERE is_heard OR place = (SELECT max(place) FROM looked_at)
                OR place = (SELECT min(place) FROM looked_at)
            ORDER BY place
            """,
            as: PlacedChange.init(row:)
        )
    }
}

extension PostgresQuery.StringInterpolation {
    /// Whether the listener may hear of a row of `looked_at`.
    fileprivate mutating func appendInterpolation(isHeardIn scope: ChangeScope, by listener: Person.ID) {
        switch scope {
        case .home, .all:
            let isHome = scope == .home
            appendLiteral("CASE WHEN kind = ")
            appendInterpolation(PhotoChange.Kind.home.rawValue)
            appendLiteral(" THEN ")
            appendInterpolation(isHome)
            appendLiteral(" AND author_id = ")
            appendInterpolation(listener)
            appendLiteral(" WHEN author_id = ")
            appendInterpolation(listener)
            appendLiteral(" THEN true ELSE ")
            appendInterpolation(unblocked: "author_id", by: listener)
            appendLiteral(" AND (NOT ")
            appendInterpolation(isHome)
            appendLiteral(" OR EXISTS (SELECT FROM follows WHERE follows.follower_id = ")
            appendInterpolation(listener)
            appendLiteral(" AND follows.followee_id = looked_at.author_id)) END")
        case .post(let post):
            // A home change of the listener may be a block: comments, or the post itself, are no longer visible.
            appendLiteral("(author_id = ")
            appendInterpolation(post.author)
            appendLiteral(" AND number = ")
            appendInterpolation(post.number)
            appendLiteral(" OR kind = ")
            appendInterpolation(PhotoChange.Kind.home.rawValue)
            appendLiteral(" AND author_id = ")
            appendInterpolation(listener)
            appendLiteral(")")
        }
    }
}

/// A change that has its place.
struct PlacedChange: Hashable, Sendable {
    /// Nil for a kind that another release notes and this one does not know.
    let kind: PhotoChange.Kind?
    let post: PostKey
    /// The number of the comment that it is about; nil for a change of the post itself.
    let comment: Int64?
    let mark: ChangeMark
    /// Whether the listener may hear of it.
    let isHeard: Bool

    fileprivate init(row: PostgresRow) throws {
        kind = PhotoChange.Kind(rawValue: try row.string("kind"))
        post = PostKey(author: try row.decode("author_id"), number: try row.int64("number"))
        comment = try row.optionalInt64("comment_id")
        mark = ChangeMark(place: try row.int64("place"), at: try row.date("placed_at"))
        isHeard = try row.bool("is_heard")
    }

    var commentKey: CommentKey? { comment.map { CommentKey(post: post, number: $0) } }
}
