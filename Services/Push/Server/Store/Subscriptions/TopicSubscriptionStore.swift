import Postgres
import Wire

struct TopicSubscriptionStore<Executor: PostgresExecutor> {
    let db: Executor

    /// Returns false if the user already subscribes to the topic.
    func insert(_ topic: String, of user: User.ID) async throws -> Bool {
        try await db.run(
            """
            INSERT INTO topic_subscriptions (application_id, topic, user_id)
            VALUES (\(user.application), \(topic), \(user.user))
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    func count(of user: User.ID, upTo limit: Int) async throws -> Int {
        try await db.one(
            """
            SELECT count(*) AS topics FROM (
                SELECT FROM topic_subscriptions
                WHERE application_id = \(user.application) AND user_id = \(user.user) LIMIT \(limit)
            ) AS counted
            """,
            as: { try $0.int("topics") }
        )
    }

    func delete(_ topic: String, of user: User.ID) async throws {
        try await db.run(
            """
            DELETE FROM topic_subscriptions
            WHERE application_id = \(user.application) AND topic = \(topic) AND user_id = \(user.user)
            """
        )
    }

    func delete(of user: User.ID) async throws {
        try await db.run(
            """
            DELETE FROM topic_subscriptions
            WHERE application_id = \(user.application) AND user_id = \(user.user)
            """
        )
    }
}
