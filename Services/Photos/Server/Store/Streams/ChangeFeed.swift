import Foundation
import Postgres
import Wire

enum ChangeScope: Hashable, Sendable {
    case home
    case all
    /// One post, with its comments.
    case post(PostKey)
}

struct ChangeFeed<Executor: PostgresExecutor> {
    let db: Executor

    /// How many changes one statement reads, whether they are visible to the subscriber or not.
    static var window: Int { 500 }

    /// Returns the changes after a change number that the subscriber may see, within a window.
    ///
    /// The first and the last change of the window are always included, so that gaps are detected and the stream moves
    /// on.
    func changes(
        after changeNumber: Int64,
        in application: String,
        for viewer: Person.ID,
        scope: ChangeScope
    ) async throws -> [NumberedChange] {
        try await db.all(
            """
            WITH candidates AS MATERIALIZED (
                SELECT change_number, kind, author_id, number, comment_id, numbered_at FROM changes
                WHERE application_id = \(application) AND change_number > \(changeNumber)
                ORDER BY change_number LIMIT \(Self.window)
            ), filtered AS (
                SELECT candidates.*, \(isVisibleIn: scope, by: viewer) AS is_visible FROM candidates
            )
            SELECT change_number, kind, author_id, number, comment_id, numbered_at, is_visible FROM filtered
            WHERE is_visible OR change_number = (SELECT max(change_number) FROM candidates)
                OR change_number = (SELECT min(change_number) FROM candidates)
            ORDER BY change_number
            """,
            as: NumberedChange.init(row:)
        )
    }
}

extension PostgresQuery.StringInterpolation {
    fileprivate mutating func appendInterpolation(isVisibleIn scope: ChangeScope, by viewer: Person.ID) {
        switch scope {
        case .home, .all:
            let isHome = scope == .home
            appendLiteral("CASE WHEN kind = ")
            appendInterpolation(PhotoChange.Kind.home.rawValue)
            appendLiteral(" THEN ")
            appendInterpolation(isHome)
            appendLiteral(" AND author_id = ")
            appendInterpolation(viewer)
            appendLiteral(" WHEN author_id = ")
            appendInterpolation(viewer)
            appendLiteral(" THEN true ELSE ")
            appendInterpolation(unblocked: "author_id", by: viewer)
            appendLiteral(" AND (NOT ")
            appendInterpolation(isHome)
            appendLiteral(" OR EXISTS (SELECT FROM follows WHERE follows.follower_id = ")
            appendInterpolation(viewer)
            appendLiteral(" AND follows.followee_id = candidates.author_id)) END")
        case .post(let post):
            // A home change of the subscriber may be a block, after which comments or the post itself are not visible.
            appendLiteral("(author_id = ")
            appendInterpolation(post.author)
            appendLiteral(" AND number = ")
            appendInterpolation(post.number)
            appendLiteral(" OR kind = ")
            appendInterpolation(PhotoChange.Kind.home.rawValue)
            appendLiteral(" AND author_id = ")
            appendInterpolation(viewer)
            appendLiteral(")")
        }
    }
}

struct NumberedChange: Hashable, Sendable {
    /// Nil for a kind that is unknown to this release.
    let kind: PhotoChange.Kind?
    let post: PostKey
    /// The number of the comment; nil for a change of the post itself.
    let comment: Int64?
    let eventID: StreamEventID
    let isVisible: Bool

    fileprivate init(row: PostgresRow) throws {
        kind = PhotoChange.Kind(rawValue: try row.string("kind"))
        post = PostKey(author: try row.decode("author_id"), number: try row.int64("number"))
        comment = try row.optionalInt64("comment_id")
        eventID = StreamEventID(changeNumber: try row.int64("change_number"), at: try row.date("numbered_at"))
        isVisible = try row.bool("is_visible")
    }

    var commentKey: CommentKey? { comment.map { CommentKey(post: post, number: $0) } }
}
