import Postgres
import PushAPI
import Wire

/// The rules of topics, to which the users of an application subscribe.
struct Topics: Sendable {
    private static let length = 1...100

    let database: PostgresPool
    /// The maximum number of topics per user.
    let maximum: Int

    func join(_ topic: String, _ user: User.ID) async throws -> TopicSubscription {
        try Self.check(topic)
        try await database.transaction { db in
            let store = TopicSubscriptionStore(db: db)
            guard try await store.insert(topic, of: user) else { return }
            guard try await store.count(of: user, upTo: maximum + 1) <= maximum else {
                throw APIError(.unprocessable, "too_many_topics", "a user can subscribe to at most \(maximum) topics")
            }
        }
        return TopicSubscription(topic: topic, subscribed: true)
    }

    func leave(_ topic: String, _ user: User.ID) async throws -> TopicSubscription {
        try Self.check(topic)
        try await TopicSubscriptionStore(db: database).delete(topic, of: user)
        return TopicSubscription(topic: topic, subscribed: false)
    }

    /// Validates the name of a topic.
    ///
    /// - Throws: a 400 error that names `field`.
    static func check(_ topic: String, field: String = "topic") throws {
        guard length.contains(topic.utf8.count), topic.utf8.allSatisfy(isAllowed) else {
            let message = "a topic must have 1 to 100 characters: ASCII letters, digits and - _ . ~ :"
            throw APIError.invalid(field, message, code: "malformed_topic")
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool { Base64URL.isDigit(byte) || ".~:".utf8.contains(byte) }
}
