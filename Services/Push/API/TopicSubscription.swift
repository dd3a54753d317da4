/// A user's subscription to a topic, to which the application's server sends notifications.
package struct TopicSubscription: Codable, Hashable, Sendable {
    package var topic: String
    package var subscribed: Bool

    package init(topic: String, subscribed: Bool) {
        self.topic = topic
        self.subscribed = subscribed
    }
}
