import Wire

/// A message found by a search, with its conversation.
package struct FoundMessage: Hashable, Sendable, PageItem {
    package static let pluralName = "messages"

    package var message: Message
    package var conversation: ConversationSummary

    /// The fields that a client needs to show the message's conversation and to open it.
    package struct ConversationSummary: Codable, Hashable, Sendable {
        package var token: String
        package var label: String
        package var type: Conversation.Kind

        package init(token: String, label: String, type: Conversation.Kind) {
            self.token = token
            self.label = label
            self.type = type
        }
    }

    package init(_ message: Message, in conversation: ConversationSummary) {
        self.message = message
        self.conversation = conversation
    }
}

extension FoundMessage: Codable {
    private enum CodingKeys: CodingKey { case conversation }

    /// Decodes a message with the additional field `conversation`.
    package init(from decoder: any Decoder) throws {
        message = try Message(from: decoder)
        conversation = try decoder.container(keyedBy: CodingKeys.self).decode(
            ConversationSummary.self,
            forKey: .conversation
        )
    }

    package func encode(to encoder: any Encoder) throws {
        try message.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(conversation, forKey: .conversation)
    }
}
