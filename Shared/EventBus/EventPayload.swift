/// What travels at once: who sends it, and some messages, a line each; an empty line says that some were dropped.
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

    /// What it says to anybody but its sender, in its order.
    func events(receivedBy subscriber: String) -> [EventBusEvent] {
        // Most that comes back is one's own: it is not taken apart.
        guard !text.utf8.starts(with: "\(subscriber)\n".utf8) else { return [] }
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().map {
            $0.isEmpty ? .missed : .message(topic: topic, text: String($0))
        }
    }
}
