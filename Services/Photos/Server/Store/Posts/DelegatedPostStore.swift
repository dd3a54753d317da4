import Foundation
import Postgres
import Wire

/// The table `delegated_posts` of idempotency keys of posts by other services.
struct DelegatedPostStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Inserts a key; returns false if it exists.
    ///
    /// Waits if another transaction is inserting the same key.
    func insert(_ key: UUID, of author: Person.ID) async throws -> Bool {
        try await db.run(
            "INSERT INTO delegated_posts (author_id, key) VALUES (\(author), \(key)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    func complete(_ key: UUID, as post: PostKey) async throws {
        try await db.run(
            "UPDATE delegated_posts SET number = \(post.number) WHERE author_id = \(post.author) AND key = \(key)"
        )
    }

    func find(_ key: UUID, of user: User.ID) async throws -> PostKey? {
        try await db.first(
            """
            SELECT author_id, number FROM delegated_posts JOIN people ON person_id = author_id
            WHERE application_id = \(user.application) AND user_id = \(user.user) AND key = \(key)
            """,
            as: PostKey.init(row:)
        )
    }

    func delete(createdBefore date: Date) async throws {
        try await db.run("DELETE FROM delegated_posts WHERE created_at < \(date)")
    }
}
