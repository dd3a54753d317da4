/// A batch of messages on one topic: a line with the sender's identity, then a line for each message.
///
/// An empty line means that messages were dropped.
struct EventPayload: Hashable, Sendable {
    let topic: String
    let text: String

    static func line(of message: String) -> String? {
        let utf8 = message.utf8
        guard !utf8.isEmpty, utf8.count <= EventBusLimits.message, !utf8.contains(10), !utf8.contains(0) else {
            return nil
        }
        return message
    }

    /// Returns the events for a subscriber, in order; a payload that the subscriber sent itself yields none.
    func events(receivedBy subscriber: String) -> [EventBusEvent] {
        // Most received payloads were sent by this instance, so they are recognized before they are split.
        guard !text.utf8.starts(with: "\(subscriber)\n".utf8) else { return [] }
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().map {
            $0.isEmpty ? .missed : .message(topic: topic, text: String($0))
        }
    }
}
