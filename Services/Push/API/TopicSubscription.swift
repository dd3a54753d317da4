/// Whether somebody hears what his application's server says about a topic.
package struct TopicSubscription: Codable, Hashable, Sendable {
    package var topic: String
    package var subscribed: Bool

    package init(topic: String, subscribed: Bool) {
        self.topic = topic
        self.subscribed = subscribed
    }
}
