import Foundation
import Postgres
import ServiceHost

/// The table `deleted_posts` of deleted posts whose comments, likes and flags are still to be deleted.
struct DeletedPostStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns a due post that no other transaction has locked, and locks it until the transaction ends.
    func next(at now: Date) async throws -> PostKey? {
        try await db.first(
            """
            SELECT author_id, number FROM deleted_posts WHERE \(isDue: .deletedPost, at: now)
            ORDER BY author_id, number LIMIT 1 FOR UPDATE SKIP LOCKED
            """,
            as: PostKey.init(row:)
        )
    }

    /// Deletes some rows of a deleted post; returns false if none were left.
    func removeSome(of post: PostKey, limit: Int) async throws -> Bool {
        for table in ["flags", "flagged_items", "likes", "comments"] {
            let removed = try await db.run(
                """
                DELETE FROM \(identifier: table)
                WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(identifier: table)
                    WHERE author_id = \(post.author) AND number = \(post.number) LIMIT \(limit)
                ))
                """
            )
            if removed > 0 { return true }
        }
        return false
    }

    func finish(_ post: PostKey) async throws {
        try await db.run("DELETE FROM deleted_posts WHERE author_id = \(post.author) AND number = \(post.number)")
    }
}

extension SetAsideKind {
    static let deletedPost = SetAsideKind(
        "deleted_post",
        table: "deleted_posts",
        key: ["author_id": "bigint", "number": "bigint"],
        dropping: .keep
    )
}
