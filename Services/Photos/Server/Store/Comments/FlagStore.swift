import Foundation
import Postgres
import Wire

struct FlagTarget: Hashable, Sendable {
    let post: PostKey
    /// Nil for the post itself.
    let comment: Int64?

    fileprivate var number: Int64 { comment ?? 0 }
}

struct FlaggedItem: Sendable {
    let target: FlagTarget
    let count: Int
    let firstAt: Date
    let lastAt: Date
}

struct FlagPosition: Codable, Sendable {
    let author: Int64
    let number: Int64
    let comment: Int64
    let microseconds: Int64

    fileprivate static let beforeAll = FlagPosition(
        author: .max,
        number: .max,
        comment: .max,
        microseconds: FeedPosition.beforeAll.createdAt.microseconds
    )
}

struct FlagStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Inserts a flag, once for each user; runs under the post's lock.
    func insert(_ target: FlagTarget, in application: String, by person: Person.ID) async throws {
        let (post, comment) = (target.post, target.number)
        let isNew = try await db.run(
            """
            INSERT INTO flags (author_id, number, comment_id, flagger_id, created_at)
            VALUES (\(post.author), \(post.number), \(comment), \(person), clock_timestamp())
            ON CONFLICT DO NOTHING
            """
        )
        guard isNew == 1 else { return }
        try await db.run(
            """
            INSERT INTO flagged_items (author_id, number, comment_id, application_id, flag_count, first_at, last_at)
            SELECT \(post.author), \(post.number), \(comment), \(application), 1, now, now
            FROM clock_timestamp() AS now
            ON CONFLICT (author_id, number, comment_id) DO UPDATE
            SET flag_count = flagged_items.flag_count + 1, last_at = EXCLUDED.last_at
            """
        )
    }

    /// Returns flagged items; those that were first flagged most recently come first.
    func page(of application: String, after last: FlagPosition?, limit: Int) async throws -> [FlaggedItem] {
        let last = last ?? .beforeAll
        return try await db.all(
            """
            SELECT author_id, number, comment_id, flag_count, first_at, last_at FROM flagged_items
            WHERE application_id = \(application)
                AND (first_at, author_id, number, comment_id)
                    < (\(Date(microseconds: last.microseconds)), \(last.author), \(last.number), \(last.comment))
            ORDER BY first_at DESC, author_id DESC, number DESC, comment_id DESC LIMIT \(limit)
            """,
            as: FlaggedItem.init(row:)
        )
    }
}

extension FlaggedItem {
    fileprivate init(row: PostgresRow) throws {
        let comment = try row.int64("comment_id")
        self.init(
            target: FlagTarget(post: try PostKey(row: row), comment: comment == 0 ? nil : comment),
            count: try row.int("flag_count"),
            firstAt: try row.date("first_at"),
            lastAt: try row.date("last_at")
        )
    }

    var position: FlagPosition {
        FlagPosition(
            author: target.post.author.rawValue,
            number: target.post.number,
            comment: target.number,
            microseconds: firstAt.microseconds
        )
    }

    var commentKey: CommentKey? { target.comment.map { CommentKey(post: target.post, number: $0) } }
}
